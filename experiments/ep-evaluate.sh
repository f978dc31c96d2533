#!/bin/sh
# Everything the tables need of one trained system of task EP:
#   experiments/ep-evaluate.sh SYSTEM [MODEL] [options of decoding, such as --int8 or --lanes 128]
# SYSTEM as for ep-train.sh. Results go to results/ep/SYSTEM (results/en-it, results/dialogue for those systems);
# `fenster report results/ep -o results/ep.html` makes the tables of all of them.
# Translations that are there already, made by the same model, are not made again.
set -eu
system=$1
shift
name=${system#*/}
case $system in
en-it/*) model=runs/europarl-en-it/$name/model ;;
dialogue/*) model=runs/$system/model ;;
*) model=runs/europarl/$name/model ;;
esac
case ${1-} in
"" | -*) ;;
*)
    model=$1
    shift
    ;;
esac
set -- --beam 4 --precision float32 "$@"
data=../shared/data
main=sequential
searches="full-segment sequential"
case $name in
sentence) searches=sentence main=sentence ;;
concat* | lst*) main=full-segment ;;
esac
case $system in
*/*) out=results/$system ;;
*) out=results/ep/$system ;;
esac
mkdir -p "$out"
case $system in
en-it/*)
    fenster evaluate -m "$model" --test $data/europarl/en-it.test.tsv.xz --name europarl-it --title "$name" \
        --rules none --strategy $main -o "$out/europarl.json" "$@"
    exit
    ;;
dialogue/*)
    for set in suttas/en-de.test chat/en-de.test ted/en-de.test europarl/en-de.test; do
        fenster evaluate -m "$model" --test $data/$set.tsv.xz --name "${set%%/*}" --title "$name" --strategy $main \
            -o "$out/${set%%/*}.json" "$@"
    done
    fenster items $data/ctxpro/formality.en-de.devtest.jsonl.xz -m "$model" --title "$name" --limit 1000 \
        -o "$out/ctxpro" "$@"
    exit
    ;;
esac
for search in $searches; do
    fenster evaluate -m "$model" --test $data/europarl/en-de.test.tsv.xz --name europarl --title "$system" \
        --strategy $search -o "$out/europarl.$search.json" "$@"
done
for set in news/newstest2018.en-de ted/en-de.test; do
    name=${set%%/*}
    fenster evaluate -m "$model" --test $data/$set.tsv.xz --name "$name" --title "$system" --strategy $main \
        -o "$out/$name.json" "$@"
done
fenster contrapro $data/contrapro/contrapro.en-de.json.xz -m "$model" --title "$system" --translate \
    -o "$out/contrapro.json" "$@"
fenster attention -m "$model" --test $data/europarl/en-de.test.tsv.xz --name europarl --title "$system" \
    -o "$out/attention.json"
