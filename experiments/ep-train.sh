#!/bin/sh
# Train one system of task EP with the budget that all systems of the tables share:
#   experiments/ep-train.sh SYSTEM [fenster train's options]       SYSTEM: a file of configs/train/europarl
# 6,000 updates of 24,000 target tokens (about 14 epochs of sentences), warm-up 2,000, peak rate 8e-4, moving average
# 0.998, the checkpoint with the best validation perplexity. The same command goes on with a run that was stopped.
set -eu
system=$1
shift
exec fenster train "configs/train/europarl/$system.yaml" --set stop.updates=6000 --set stop.patience=null \
    --set optimizer.warmup=2000 --set optimizer.rate=8e-4 --set average.ema=0.998 --set valid.every=1000 \
    --set checkpoint.every=2000 --set log.every=100 "$@"
