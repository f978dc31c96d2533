#!/bin/sh
# The main job on what ships with the repo: translate a document with the model of the package, and look at it.
set -eu
cd "$(dirname "$0")/.."
out=examples/out
mkdir -p $out
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. Translate a document into German: fenster translate examples/sample.txt --beam 4 --format jsonl -o $out/sample.jsonl"
fenster translate examples/sample.txt --beam 4 --format jsonl -o $out/sample.jsonl

say "2. Side by side, with the forms of address marked"
python examples/side_by_side.py $out/sample.jsonl

say "More: make toy (train two small systems and see what context is good for), fenster --help"
