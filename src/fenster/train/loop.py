"""The training loop: data in, updates, validation, checkpoints, until a limit, early stopping or a signal.

A run goes on by itself from its newest checkpoint. On a CPU the result is bit for bit that of a run that was never
interrupted: data order and dropout follow from (seed, update), all else is in the checkpoint.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from fenster.context import ExampleIndex
from fenster.errors import ConfigError, InputError
from fenster.loader import Loader, Position, Step, prefetch
from fenster.model.device import out_of_memory
from fenster.model.transformer import Transformer
from fenster.sampler import Sampler
from fenster.shards import Prepared
from fenster.train import checkpoint
from fenster.train.beginning import Beginning, begin_with
from fenster.train.checkpoint import Progress, State
from fenster.train.config import TrainConfig, binding, differences
from fenster.train.engine import Engine
from fenster.train.folder import RunFolder
from fenster.train.inputs import Inputs
from fenster.train.journal import Journal
from fenster.train.limits import limit, share_done
from fenster.train.models import Models
from fenster.train.signals import catching
from fenster.train.trouble import gradient_error, memory_error
from fenster.train.validate import Validator, perplexity
from fenster.train.world import World, join


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended."""

    folder: Path
    progress: Progress
    stopped: int | None
    """The signal that stopped it, if one did; the same call goes on."""
    main: bool
    """Whether this is the process that speaks for the run."""


def train(config: TrainConfig) -> Outcome:
    """Train, or go on training, until the run is finished or a signal asks to stop."""
    with join(config.device) as world:
        folder = RunFolder(config.output)
        if not world.main:
            return Run(config, folder, world).go()
        with folder.locked():
            return Run(config, folder, world).go()


class Run:
    def __init__(self, config: TrainConfig, folder: RunFolder, world: World) -> None:
        self.config, self.folder, self.world = config, folder, world
        if config.optimizer.batches % world.ranks:
            raise ConfigError(
                f"optimizer.batches is {config.optimizer.batches}, and {world.ranks} processes share them",
                expected=f"a multiple of {world.ranks}",
                fix=f"take --set optimizer.batches={world.ranks * -(-config.optimizer.batches // world.ranks)}",
            )
        self.data = Prepared(config.data, verify=world.main)
        resume = self._resume()
        torch.manual_seed(config.seed)
        manifest = self.data.manifest
        model = Transformer(config.model, manifest.vocab_size, manifest.train_ratio.macro).to(world.device)
        self._beginning: Beginning | None = None
        self._begun = ""
        if resume is not None:
            self._beginning = resume[1].beginning
            # The record keeps what the run really began with, whatever is given now.
            self.config = config = config.model_copy(update={"initial": resume[1].initial})
        elif config.initial is not None:
            self._beginning, self._begun = begin_with(model, config, self.data)
        model.train()
        self.engine = Engine(model, config, world)
        self.sampler = Sampler(ExampleIndex.build(self.data.split("train"), config.context), config.batch)
        self.validator = Validator(self.data.split(config.valid.split), config.context, config.valid.tokens, world)
        self.models = Models(config, folder, self.data, self.engine, self._beginning)
        self.progress = Progress()
        if resume is not None:
            place, state = resume
            checkpoint.restore(place, self.engine)
            self.progress = state.progress
        self._batches = len(self.sampler.plan(0))
        self._began = self._last = self._saved = time.monotonic()
        self._before = self.progress.seconds

    def _resume(self) -> tuple[Path, State] | None:
        """The newest checkpoint, if it belongs to this configuration and this data."""
        places = checkpoint.found(self.folder.checkpoints)
        if not places:
            return None
        state = checkpoint.read_state(places[-1])
        changed = differences(binding(state.config), binding(self.config.model_dump(mode="json")))
        if changed:
            raise ConfigError(
                "a run with other settings lies here:\n  " + "\n  ".join(changed),
                path=self.folder.path,
                fix="take these settings back, or another output folder",
            )
        if state.fingerprint != self.data.manifest.fingerprint:
            raise InputError(
                "the run in this folder was trained on other data",
                path=self.folder.path,
                expected=f"the prepared data with fingerprint {state.fingerprint[:12]}",
                fix="give that data, or another output folder",
            )
        return places[-1], state

    def go(self) -> Outcome:
        progress = self.progress
        with (
            Journal(self.folder, tensorboard=self.config.log.tensorboard, quiet=not self.world.main) as journal,
            catching() as caught,
        ):
            self.journal = journal
            reason = limit(self.config.stop, progress)
            if reason is not None and progress.finished is not None:
                journal.say(f"{self.folder.path}: finished already, {reason}")
                return Outcome(self.folder.path, progress, None, self.world.main)
            if self.world.main:
                self.folder.write_record(self.config.model_dump(mode="json"), self.models.data_record())
                self.folder.rewind(progress.update)
                self.models.rewind(progress.update)
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
                journal.say(f"stopped by {name} at update {self.progress.update:,}; the same command goes on")
            self.models.draw(journal)
        return Outcome(self.folder.path, self.progress, stopped, self.world.main)

    def _introduce(self) -> None:
        manifest, progress, model = self.data.manifest, self.progress, self.engine.model
        size = sum(p.numel() for p in model.parameters())
        index, device = self.sampler.index, self.world.device
        name = (
            torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} CPU threads"
        )
        self.journal.say(
            f"{self.config.system}: {size / 1e6:.1f}M parameters on {name} x {self.world.ranks}, "
            f"{len(index):,} examples, {manifest.splits['train'].target_tokens:,} target tokens, "
            f"{self._batches:,} batches of up to {self.config.batch.tokens:,} tokens an epoch"
        )
        if self.sampler.oversize:
            self.journal.say(
                f"{self.sampler.oversize:,} examples are longer than batch.tokens: a batch of its own each"
            )
        if self._begun:
            self.journal.say(self._begun)
        text = f"from update {progress.update:,}" if progress.update else "from the beginning"
        self.journal.write({"kind": "start", "update": progress.update, "text": f"{text}, into {self.folder.path}"})

    def _train(self, caught: list[int]) -> int | None:
        """Updates until a limit is reached (None) or a signal came (its number)."""
        self._began = self._saved = time.monotonic()
        self._last = self._began - self.progress.unlogged
        share = self.config.optimizer.batches // self.world.ranks
        feed = prefetch(self._feed(), 8)
        try:
            return self._updates(feed, share, caught)
        finally:
            feed.close()

    def _updates(self, feed: Iterator[tuple[Inputs, Position]], share: int, caught: list[int]) -> int | None:
        while True:
            taken = [next(feed) for _ in range(share)]
            tokens, signalled = self.world.sum(sum(inputs.tokens for inputs, _ in taken), len(caught))
            self._advance([inputs for inputs, _ in taken], taken[-1][1], round(tokens))
            self._look_around()
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
        self.progress = self.models.finish(self.validator, self.journal, self.progress)
        self.progress = self.progress.model_copy(update={"finished": reason})
        self._save()
        self.journal.write({"kind": "stop", "update": self.progress.update, "text": reason})

    def _feed(self) -> Iterator[tuple[Inputs, Position]]:
        """Runs in the background: batches as tensors, pinned where a GPU will fetch them."""
        loader = Loader(self.sampler, rank=self.world.rank, ranks=self.world.ranks)
        pin = self.world.device.type == "cuda"
        step: Step
        for step in loader.steps(Position(self.progress.epoch, self.progress.batch)):
            inputs = Inputs.of(step.batch, self.engine.unit)
            yield (inputs.each(torch.Tensor.pin_memory) if pin else inputs), step.after

    def _advance(self, batches: list[Inputs], after: Position, tokens: int) -> None:
        number = self.progress.update + 1
        try:
            self.engine.update(number, batches, tokens)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            raise memory_error(batches, number, self.config) from error
        self.progress = self.progress.model_copy(
            update={
                "update": number,
                "epoch": after.epoch,
                "batch": after.batch,
                "tokens": self.progress.tokens + tokens,
                "seconds": self._before + time.monotonic() - self._began,
            }
        )

    def _look_around(self) -> None:
        """Log, probe and validate, where it is time."""
        update, config = self.progress.update, self.config
        if update % config.log.every == 0:
            self._log()
        if config.log.probe is not None and update % config.log.probe == 0 and self.world.main:
            weights = self.models.validated_weights()
            with self.models.using(weights):
                probe = self.validator.probe(self.engine.model, self.engine.autocast, config.log.probe_tokens)
            share, last = probe.cross_share()
            layers = {name: probe.share(name).tolist() for name in probe.modules if name.endswith("cross")}
            entry = {"kind": "probe", "update": update, "share": share, "share_last_layer": last, "heads": layers}
            self.journal.write(entry)
        if update % config.valid.every == 0:
            self._validate()

    def _log(self) -> None:
        reading = self.engine.read()
        now = time.monotonic()
        skipped = self.progress.skipped + round(reading.skipped)
        self.progress = self.progress.model_copy(update={"skipped": skipped})
        tokens, updates = max(reading.tokens, 1), max(reading.updates, 1)
        entry = {
            "kind": "train",
            "update": self.progress.update,
            "epoch": self.progress.epoch + self.progress.batch / self._batches,
            "loss": reading.smoothed / tokens if reading.updates else None,  # all were skipped
            "perplexity": perplexity(reading.nll / tokens) if reading.updates else None,
            "norm": reading.norm / updates,
            "rate": self.engine.rate(self.progress.update),
            "tokens": self.progress.tokens,
            "tokens_per_second": reading.tokens / (now - self._last),
            "seconds": self.progress.seconds,
            "skipped": skipped,
        }
        self._last = now
        self.journal.write(entry, share_done(self.config.stop, self.progress, self._batches))
        if reading.in_a_row >= self.config.optimizer.bad_updates:
            raise gradient_error(round(reading.in_a_row), self.progress.update)

    def _validate(self) -> None:
        began = time.monotonic()
        result = self.models.validate(self.validator)
        better = result.better_than(self.progress.best)
        changes = (
            {"best": result.perplexity, "best_update": self.progress.update, "waiting": 0}
            if better
            else {"waiting": self.progress.waiting + 1}
        )
        self.progress = self.progress.model_copy(update=changes)
        progress = self.progress
        self.journal.write(
            result.entry(progress.update, best=better, waiting=progress.waiting, seconds=progress.seconds)
        )
        if self.world.main:
            self.models.keep(self.progress, result, better)
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
            beginning=self._beginning,
        )
        checkpoint.save(self.folder.checkpoints, state, self.engine, self.config.checkpoint.keep)
        self._saved = time.monotonic()
        self._last += self._saved - began
