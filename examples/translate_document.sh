#!/bin/sh
# The main job: translate a document with the bundled model, and look at it.
set -eu
cd "$(dirname "$0")/.."
out=examples/out
mkdir -p $out
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. Translate a document into German: fenster translate examples/clock.md --register formal --beam 4 -o $out/clock.de.md"
fenster translate examples/clock.md --register formal --beam 4 -o $out/clock.de.md

say "2. Side by side, and whether register, pronouns, figures, names and the address of a web page are right"
python examples/check.py examples/clock.md $out/clock.de.md

say "More: fenster translate --help, make toy (train two small systems and see what context is good for)"
