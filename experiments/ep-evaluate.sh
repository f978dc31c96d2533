#!/bin/sh
# Everything the tables need of one trained system of task EP:
#   experiments/ep-evaluate.sh SYSTEM [MODEL] [options of decoding, such as --int8 or --lanes 128]
# Results go to results/ep/SYSTEM; `fenster report results/ep -o results/ep.html` makes the tables of all of them.
# Translations that are there already, made by the same model, are not made again.
set -eu
system=$1
model=${2:-runs/europarl/$1/model}
[ $# -gt 1 ] && shift 2 || shift 1
data=../shared/data
out=results/ep/$system
mkdir -p "$out"
case $system in
sentence) searches=sentence ;;
*) searches="full-segment sequential" ;;
esac
for search in $searches; do
    fenster evaluate -m "$model" --test $data/europarl/en-de.test.tsv.xz --name europarl --title "$system" \
        --strategy $search --beam 4 -o "$out/europarl.$search.json" "$@"
done
main=sentence
case $system in window*) main=sequential ;; concat* | lst*) main=full-segment ;; esac
for set in news/newstest2018.en-de ted/en-de.test; do
    name=${set%%/*}
    fenster evaluate -m "$model" --test $data/$set.tsv.xz --name "$name" --title "$system" --strategy $main --beam 4 \
        -o "$out/$name.json" "$@"
done
fenster contrapro $data/contrapro/contrapro.en-de.json.xz -m "$model" --title "$system" --translate --beam 4 \
    -o "$out/contrapro.json" "$@"
fenster attention -m "$model" --test $data/europarl/en-de.test.tsv.xz --name europarl --title "$system" \
    -o "$out/attention.json"
