"""The training loop: data in, updates, validation, checkpoints, until a limit, early stopping or a signal.

A run resumes by itself from its newest checkpoint. On a CPU the result is bit for bit that of a run that was never
interrupted: data order and dropout follow from (seed, update), all else is in the checkpoint.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from fenster.data.dataset import PreparedData
from fenster.data.loader import PREFETCHED_BATCHES, DataPosition, Loader, Step, prefetch
from fenster.data.mixture import mixture_weights
from fenster.data.portions import Portions
from fenster.errors import ConfigError, InputError
from fenster.model.ops.device import out_of_memory
from fenster.model.transformer import Transformer
from fenster.train import checkpoint
from fenster.train.checkpoint import Progress, Sound, State
from fenster.train.config import TrainConfig, binding, differences
from fenster.train.distributed import World, join
from fenster.train.inputs import Inputs
from fenster.train.logger import RunLogger
from fenster.train.model_selection import ModelSelection
from fenster.train.run_folder import RunFolder
from fenster.train.stopping import (
    catch_signals,
    gradient_error,
    limit,
    out_of_memory_error,
    progress_share,
)
from fenster.train.update import Engine
from fenster.train.validation import Validator, perplexity
from fenster.train.warm_start import WarmStart, check_anchor, start_from


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended."""

    folder: Path
    progress: Progress
    stopped: int | None
    """The signal that stopped it, if one did; the same call resumes."""
    main: bool
    """True for the process that reports for the run."""


def train(config: TrainConfig) -> Outcome:
    """Train, or resume training, until the run is finished or a signal asks to stop."""
    # Less fragmentation with batches of many shapes. Read when torch first uses the GPU.
    os.environ.setdefault("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    with join(config.device) as world:
        folder = RunFolder(config.output)
        if not world.main:
            return Run(config, folder, world).run()
        with folder.locked():
            return Run(config, folder, world).run()


class Run:
    def __init__(self, config: TrainConfig, folder: RunFolder, world: World) -> None:
        self.config, self.folder, self.world = config, folder, world
        if config.optimizer.batches % world.ranks:
            raise ConfigError(
                f"optimizer.batches is {config.optimizer.batches}, and {world.ranks} processes share them",
                expected=f"a multiple of {world.ranks}",
                fix=f"use --set optimizer.batches={world.ranks * -(-config.optimizer.batches // world.ranks)}",
            )
        self.data = PreparedData(config.data, verify=world.main)
        resume = self._resume()
        torch.manual_seed(config.seed)
        manifest = self.data.manifest
        model = Transformer(config.model, manifest.vocab_size, manifest.train_ratio.macro).to(world.device)
        self._warm_start: WarmStart | None = None
        self._warm_start_text = ""
        if config.warm_start is not None and (resume is None or config.optimizer.anchor):
            self._warm_start, self._warm_start_text = start_from(model, config, self.data)
        if resume is not None:
            check_anchor(config, self._warm_start, resume.state.warm_start)
            self._warm_start, self._warm_start_text = resume.state.warm_start, ""
            # The record keeps what the run really began with, whatever is given now.
            self.config = config = config.model_copy(update={"warm_start": resume.state.warm_started_from})
        model.train()
        self.engine = Engine(model, config, world, n_symbols=self.data.tokenizer.n_symbols)
        weights = mixture_weights(manifest.corpora, config.mixture)
        self.portions = Portions(self.data.split("train"), config.context, config.batch, weights=weights)
        self.validator = Validator(self.data.split(config.valid.split), config.context, config.valid.tokens, world)
        self.selection = ModelSelection(
            config,
            folder,
            self.data,
            self.engine,
            self._warm_start,
            None if resume is None else resume.state.progress.update,
        )
        self.progress = Progress()
        if resume is not None:
            checkpoint.restore(resume.folder, self.engine)
            self.progress = resume.state.progress
        self._damaged = () if resume is None else resume.damaged
        self._began = self._last = self._saved = time.monotonic()
        self._before = self.progress.seconds

    def _resume(self) -> Sound | None:
        """The newest undamaged checkpoint, if it belongs to this configuration and this data."""
        newest = checkpoint.newest_sound(self.folder.checkpoints)
        if newest is None:
            return None
        state = newest.state
        # Keys that are newer than the run have had their defaults.
        before = TrainConfig.model_validate(state.config).model_dump(mode="json")
        changed = differences(binding(before), binding(self.config.model_dump(mode="json")))
        if changed:
            raise ConfigError(
                "this folder holds a run with different settings:\n  " + "\n  ".join(changed),
                path=self.folder.path,
                fix="restore these settings, or choose another output folder",
            )
        if state.fingerprint != self.data.manifest.fingerprint:
            raise InputError(
                "the run in this folder was trained on different data",
                path=self.folder.path,
                expected=f"the prepared data with fingerprint {state.fingerprint[:12]}",
                fix="give that data, or choose another output folder",
            )
        return newest

    def run(self) -> Outcome:
        progress = self.progress
        with (
            RunLogger(self.folder, tensorboard=self.config.log.tensorboard, quiet=not self.world.main) as logger,
            catch_signals() as caught,
        ):
            self.logger = logger
            reason = limit(self.config.stop, progress)
            if reason is not None and progress.finished is not None:
                logger.say(f"{self.folder.path}: already finished: {reason}")
                return Outcome(self.folder.path, progress, None, self.world.main)
            self.world.wait()  # all have read what is there
            if self.world.main:
                checkpoint.set_aside(self._damaged)
                for path in self._damaged:
                    logger.say(f"{path} is damaged: set aside, resuming from update {progress.update:,}")
                self.folder.write_record(self.config.model_dump(mode="json"), self.selection.data_record())
                self.folder.rewind(progress.update)
                self.selection.rewind(progress.update)
            self.world.wait()
            self._introduce()
            stopped = None
            if reason is None:
                self.progress = progress.model_copy(update={"finished": None})
                stopped = self._train(caught)
            else:  # a limit that was lowered since
                self._end(reason)
            if stopped is not None:
                name = signal.Signals(stopped).name
                logger.say(f"stopped by {name} at update {self.progress.update:,}; the same command resumes")
            self.selection.draw(logger)
        return Outcome(self.folder.path, self.progress, stopped, self.world.main)

    def _introduce(self) -> None:
        manifest, progress, model = self.data.manifest, self.progress, self.engine.model
        size = sum(p.numel() for p in model.parameters())
        device = self.world.device
        name = (
            torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
        )
        self.logger.say(
            f"{self.config.system}: {size / 1e6:.1f}M parameters on {name} x {self.world.ranks}, "
            f"{manifest.splits['train'].target_tokens:,} target tokens, {self.portions.describe()}"
        )
        if self._warm_start_text:
            self.logger.say(self._warm_start_text)
        text = f"from update {progress.update:,}" if progress.update else "from the first update"
        self.logger.write({"kind": "start", "update": progress.update, "text": f"{text}, into {self.folder.path}"})

    def _train(self, caught: list[int]) -> int | None:
        """Updates until a limit is reached (None) or a signal came (its number)."""
        self._began = self._saved = time.monotonic()
        self._last = self._began - self.progress.unlogged
        per_process = self.config.optimizer.batches // self.world.ranks
        feed = prefetch(self._feed(), PREFETCHED_BATCHES)
        try:
            return self._updates(feed, per_process, caught)
        finally:
            feed.close()

    def _updates(
        self, feed: Iterator[tuple[Inputs, DataPosition]], per_process: int, caught: list[int]
    ) -> int | None:
        while True:
            taken = [next(feed) for _ in range(per_process)]
            tokens, signalled = self.world.sum(sum(inputs.tokens for inputs, _ in taken), len(caught))
            self._advance([inputs for inputs, _ in taken], taken[-1][1], round(tokens))
            self._log_probe_validate()
            reason = limit(self.config.stop, self.progress)
            late = time.monotonic() - self._saved > 60 * self.config.checkpoint.minutes
            if self.world.ranks > 1:
                late = self.world.sum(late)[0] > 0
                reason = reason if self.world.sum(reason is not None)[0] == self.world.ranks else None
            if reason is not None:
                self._end(reason)
                return None
            if signalled or late or self.progress.update % self.config.checkpoint.every == 0:
                self._save()
            if signalled:
                return caught[0] if caught else signal.SIGTERM

    def _end(self, reason: str) -> None:
        self.progress = self.selection.finish(self.validator, self.logger, self.progress)
        self.progress = self.progress.model_copy(update={"finished": reason})
        self._save()
        self.logger.write({"kind": "stop", "update": self.progress.update, "text": reason})

    def _feed(self) -> Iterator[tuple[Inputs, DataPosition]]:
        """Runs in the background: batches as tensors, in pinned memory if a GPU will read them."""
        loader = Loader(self.portions, rank=self.world.rank, ranks=self.world.ranks)
        pin = self.world.device.type == "cuda"
        step: Step
        for step in loader.steps(self.progress.position):
            inputs = Inputs.of(step.batch, self.engine.pad_multiple)
            yield (inputs.map(torch.Tensor.pin_memory) if pin else inputs), step.after

    def _advance(self, batches: list[Inputs], after: DataPosition, tokens: int) -> None:
        number = self.progress.update + 1
        try:
            self.engine.update(number, batches, tokens)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise out_of_memory_error(batches, number, self.config) from error
        self.progress = self.progress.model_copy(
            update={
                "update": number,
                "epoch": after.epoch,
                "portion": after.portion,
                "batch": after.batch,
                "tokens": self.progress.tokens + tokens,
                "seconds": self._before + time.monotonic() - self._began,
            }
        )

    def _log_probe_validate(self) -> None:
        """Log, probe and validate, if it is time."""
        update, config = self.progress.update, self.config
        if update % config.log.every == 0:
            self._log()
        if config.log.probe is not None and update % config.log.probe == 0 and self.world.main:
            weights = self.selection.validated_weights()
            with self.selection.using(weights):
                probe = self.validator.probe(self.engine.model, self.engine.autocast, config.log.probe_tokens)
            share, last = probe.cross_share()
            layers = {name: probe.share(name).tolist() for name in probe.modules if name.endswith("cross")}
            entry = {"kind": "probe", "update": update, "share": share, "share_last_layer": last, "heads": layers}
            self.logger.write(entry)
        if update % config.valid.every == 0:
            self._validate()

    def _log(self) -> None:
        readings = self.engine.read()
        now = time.monotonic()
        skipped = self.progress.skipped + round(readings.skipped)
        self.progress = self.progress.model_copy(update={"skipped": skipped})
        tokens, updates = max(readings.tokens, 1), max(readings.updates, 1)
        entry = {
            "kind": "train",
            "update": self.progress.update,
            "epoch": self.portions.epochs(self.progress.position),
            "loss": readings.smoothed / tokens if readings.updates else None,  # all were skipped
            "perplexity": perplexity(readings.nll / tokens) if readings.updates else None,
            "norm": readings.norm / updates,
            "lr": self.engine.lr(self.progress.update),
            "tokens": self.progress.tokens,
            "tokens_per_second": readings.tokens / (now - self._last),
            "seconds": self.progress.seconds,
            "skipped": skipped,
        }
        self._last = now
        self.logger.write(
            entry, progress_share(self.config.stop, self.progress, self.portions.epochs(self.progress.position))
        )
        if readings.in_a_row >= self.config.optimizer.bad_updates:
            raise gradient_error(round(readings.in_a_row), self.progress.update)

    def _validate(self) -> None:
        began = time.monotonic()
        result = self.selection.validate(self.validator)
        better = result.better_than(self.progress.best)
        changes = (
            {"best": result.perplexity, "best_update": self.progress.update, "waiting": 0}
            if better
            else {"waiting": self.progress.waiting + 1}
        )
        self.progress = self.progress.model_copy(update=changes)
        progress = self.progress
        self.logger.write(
            result.entry(progress.update, best=better, waiting=progress.waiting, seconds=progress.seconds)
        )
        if self.world.main:
            self.selection.keep(self.progress, result, better)
        self._last += time.monotonic() - began  # not part of training speed

    def _save(self) -> None:
        began = time.monotonic()
        self.progress = self.progress.model_copy(update={"unlogged": began - self._last})
        config = self.config.model_dump(mode="json")
        state = State(
            format_version=checkpoint.FORMAT_VERSION,
            progress=self.progress,
            config=config,
            fingerprint=self.data.manifest.fingerprint,
            warm_start=self._warm_start,
        )
        checkpoint.save(self.folder.checkpoints, state, self.engine, self.config.checkpoint.keep)
        self._saved = time.monotonic()
        self._last += self._saved - began
