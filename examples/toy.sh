#!/bin/sh
# What context is good for, from nothing: generate a small parallel corpus with discourse dependencies, prepare it,
# train a sentence-level and a window system on it, and translate documents with both. Everything lands in examples/out; what
# was trained before is not trained again.
set -eu
cd "$(dirname "$0")/.."
out=examples/out
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. Generate parallel documents in which 'you' and 'it' depend on earlier sentences"
fenster data generate --documents 600 --seed 1 -o $out/train.jsonl
fenster data generate --documents 40 --seed 2 -o $out/valid.jsonl
fenster data generate --documents 40 --seed 3 -o $out/test.jsonl --decisions $out/test.decisions.jsonl

say "2. Look at the corpus: fenster data stats $out/train.jsonl"
fenster data stats $out/train.jsonl

say "3. Learn a tokenizer and prepare token ids: fenster prepare toy"
fenster prepare toy

say "4. The same documents as sentence-level, concatenated and document-level training examples"
for context in sentence adjacent document; do
    fenster data show $out/prepared --context $context --tokens 2000
done

say "5. Train a sentence-level system (about a minute): fenster train toy-sentence"
fenster train toy-sentence

say "6. Train a system with window attention (about two minutes): fenster train toy"
fenster train toy
fenster runs $out

say "7. Translate with both: green forms agree with the sentence that decides them, red ones do not"
python examples/toy.py $out

say "8. Or a text of your own: fenster translate examples/toy.txt --documents --model $out/window/model"
fenster translate examples/toy.txt --documents --model $out/window/model
