#!/bin/sh
# Evaluate the default model on every test set at hand: experiments/default-evaluate.sh [MODEL]
# Results go to results/default; `fenster report results/default -o results/default.html` shows them.
set -eu
model=${1:-src/fenster/pretrained/en-de}
data=../shared/data
out=results/default
mkdir -p $out
for set in europarl/en-de.test suttas/en-de.test chat/en-de.test news/newstest2018.en-de ted/en-de.test; do
    name=$(echo "$set" | cut -d/ -f1)
    fenster evaluate -m "$model" --test $data/$set.tsv.xz --name "$name" --title default --beam 4 -o $out/$name.json
    fenster distance $out/$name.txt --test $data/$set.tsv.xz --name "$name" --title default -o $out/$name.distance.json
done
fenster contrapro $data/contrapro/contrapro.en-de.json.xz -m "$model" --title default -o $out/contrapro.json
fenster items $data/ctxpro/formality.en-de.devtest.jsonl.xz -m "$model" --title default --limit 300 --beam 4 -o $out/ctxpro
fenster attention -m "$model" --test $data/europarl/en-de.test.tsv.xz --name europarl --title default -o $out/attention.json
