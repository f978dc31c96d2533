#!/bin/sh
# Train one system of task EP with the budget that all systems of the tables share:
#   experiments/ep-train.sh SYSTEM [fenster train's options]
# SYSTEM: a file of configs/train/europarl, or a variant of its window.yaml (Table 4): window-w10, window-w30, window-abs,
# window-sent-align, window-sent-linear, window-whole, window-whole-sent-align; or en-it/sentence, en-it/window; or
# dialogue/SYSTEM (the same on configs/prepare/dialogue.yaml, for forms of address); or lst-from-sentence, which begins
# with the sentence-level system's weights (LST does not get anywhere from random ones), at a lower rate.
# 6,000 updates of 24,000 target tokens (about 14 epochs of sentences), warm-up 2,000, peak rate 8e-4, moving average
# 0.998, the checkpoint with the best validation perplexity. The same command goes on with a run that was stopped.
set -eu
system=$1
shift
config=europarl/$system
attention=model.attention
case $system in
window-w10) set -- --set $attention.window=10 "$@" ;;
window-w30) set -- --set $attention.window=30 "$@" ;;
window-abs) set -- --set model.positions=sinusoidal "$@" ;;
window-sent-align) set -- --set $attention.alignment=sent-align "$@" ;;
window-sent-linear) set -- --set $attention.alignment=sent-linear --set $attention.decoding_alignment=sent-linear "$@" ;;
window-whole) set -- --set context.limit=null "$@" ;;
window-whole-sent-align) set -- --set context.limit=null --set $attention.alignment=sent-align "$@" ;;
lst-from-sentence)
    config=europarl/lst
    set -- --set "output=runs/europarl/$system" --set initial=runs/europarl/sentence/model "$@"
    ;;
dialogue/*)
    config=europarl/${system#dialogue/}
    set -- --set data=data/dialogue --set "output=runs/$system" --set card.licence="CC BY-SA 4.0" \
        --set card.note="Trained on Europarl, SuttaCentral (CC0) and BConTrasT (CC BY-SA 4.0)" "$@"
    ;;
en-it/*) config=europarl-en-it/${system#en-it/} ;;
esac
case $system in window-*)
    config=europarl/window
    set -- --set "output=runs/europarl/$system" "$@"
    ;;
esac
rate=8e-4
[ "$system" != lst-from-sentence ] || rate=5e-4
exec fenster train "configs/train/$config.yaml" --set stop.updates=6000 --set stop.patience=null \
    --set optimizer.warmup=2000 --set optimizer.rate=$rate --set average.ema=0.998 --set valid.every=1000 \
    --set checkpoint.every=2000 --set log.every=100 "$@"
