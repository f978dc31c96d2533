#!/bin/sh
# The main job on what ships with the repo: generate a small parallel corpus with discourse dependencies, prepare
# it, and look at what came out. Everything lands in demo/out.
set -eu
cd "$(dirname "$0")/.."
out=demo/out
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. Generate parallel documents in which 'you' and 'it' depend on earlier sentences"
fenster data generate --documents 600 --seed 1 -o $out/train.jsonl
fenster data generate --documents 40 --seed 2 -o $out/valid.jsonl
fenster data generate --documents 40 --seed 3 -o $out/test.jsonl --decisions $out/test.decisions.jsonl

say "2. Look at the corpus: fenster data stats $out/train.jsonl"
fenster data stats $out/train.jsonl

say "3. Learn a tokenizer and prepare token ids: fenster prepare configs/prepare/toy.yaml"
fenster prepare configs/prepare/toy.yaml --force

say "4. The same documents as sentence-level, concatenated and document-level training examples"
for context in sentence adjacent document; do
    fenster data show $out/prepared --context $context --tokens 2000
done
