"""Which weights of a run are validated and kept: raw or averaged, the best so far, the mean of the last."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from fenster.data.dataset import PreparedData
from fenster.errors import counted
from fenster.io.files import atomic_path
from fenster.io.model_json import MODEL_JSON
from fenster.language.lexicon import Lexicon
from fenster.model.description import Description, read_description, read_lexicon
from fenster.model.model_folder import save_model, write_tensors
from fenster.train.checkpoint import Progress
from fenster.train.config import TrainConfig
from fenster.train.logger import RunLogger
from fenster.train.loss_curve import draw
from fenster.train.model_card import card
from fenster.train.run_folder import RunFolder, versions
from fenster.train.update import Engine
from fenster.train.validation import Validation, Validator
from fenster.train.warm_start import WarmStart

Weights = dict[str, Tensor]


class ModelSelection:
    def __init__(
        self,
        config: TrainConfig,
        folder: RunFolder,
        data: PreparedData,
        engine: Engine,
        warm_start: WarmStart | None,
        resumed_from: int | None = None,
    ) -> None:
        self._config, self._folder, self._data, self._engine = config, folder, data, engine
        self._warm_start, self._resumed_from = warm_start, resumed_from
        self._lexicon = self._kept_lexicon()

    def validated_weights(self) -> Weights:
        """The moving average if there is one, else the weights themselves."""
        engine = self._engine
        return engine.ema if engine.ema is not None else {n: p.detach() for n, p in engine.parameters.items()}

    @contextmanager
    def using(self, weights: Weights) -> Iterator[None]:
        """The model with other weights for a while. They are copied over its own, so that whatever refers to those
        (graphs, the optimizer) stays valid."""
        own = {name: p.detach() for name, p in self._engine.parameters.items()}
        if all(weights[name] is own[name] or weights[name].data_ptr() == own[name].data_ptr() for name in own):
            yield
            return
        kept = {name: tensor.clone() for name, tensor in own.items()}
        try:
            for name, tensor in own.items():
                tensor.copy_(weights[name])
            yield
        finally:
            for name, tensor in own.items():
                tensor.copy_(kept[name])

    def validate(self, validator: Validator, weights: Weights | None = None) -> Validation:
        with self.using(weights or self.validated_weights()):
            return validator.run(self._engine.model, self._engine.autocast)

    def keep(self, progress: Progress, result: Validation, better: bool) -> None:
        """After a validation: the model folder if these weights are chosen, a snapshot if an average will be made."""
        weights = self.validated_weights()
        if self._takes_last:
            self._save(weights, progress.update, result, "last validation")
        elif better and not self._has_better(result):
            self._save(weights, progress.update, result, "best validation perplexity")
        last = self._config.average.last
        if last is not None:
            with atomic_path(self._snapshot(progress.update)) as temporary:
                write_tensors(temporary, weights)
            for old in sorted(self._folder.snapshots.glob("update-*.safetensors"))[:-last]:
                old.unlink()

    @property
    def _takes_last(self) -> bool:
        return self._config.valid.choose == "last"

    def _has_better(self, result: Validation) -> bool:
        """True if this run saved a better model before it had to resume from an earlier update: it is kept."""
        if self._resumed_from is None or not (self._folder.model / "model.json").is_file():
            return False
        training = read_description(self._folder.model).training
        later = int(training.get("update", 0)) > self._resumed_from
        return later and float(training.get("valid_perplexity", math.inf)) < result.perplexity

    def rewind(self, update: int) -> None:
        """Remove snapshots that a run resuming from `update` will make again."""
        for path in self._folder.snapshots.glob("update-*.safetensors"):
            if path > self._snapshot(update):
                path.unlink()

    def finish(self, validator: Validator, logger: RunLogger, progress: Progress) -> Progress:
        """At the end of a run: the last weights if they were never validated, then the average if one is configured.

        All processes call this, since they validate together.
        """
        if progress.update % self._config.valid.every:
            result = self.validate(validator)
            progress = self._consider(progress, result, self.validated_weights(), "last weights", logger)
        if self._config.average.last is None:
            return progress
        self._engine.world.wait()
        paths = sorted(self._folder.snapshots.glob("update-*.safetensors"))
        if len(paths) < 2:
            logger.say(f"no average: {counted(len(paths), 'validation is', 'validations are')} too few")
            return progress
        mean = average([load_file(path, str(self._engine.world.device)) for path in paths])
        text = f"mean of {len(paths)} validations"
        return self._consider(progress, self.validate(validator, mean), mean, text, logger)

    def _consider(
        self, progress: Progress, result: Validation, weights: Weights, text: str, logger: RunLogger
    ) -> Progress:
        better = self._takes_last or (result.better_than(progress.best) and not self._has_better(result))
        logger.say(f"{text}: valid perplexity {result.perplexity:.4f}" + (", kept" if better else ", discarded"))
        logger.write(result.entry(progress.update, best=better, waiting=progress.waiting, weights=text))
        if not better:
            return progress
        if self._engine.world.main:
            self._save(weights, progress.update, result, text)
        return progress.model_copy(update={"best": result.perplexity, "best_update": progress.update, "waiting": 0})

    def draw(self, logger: RunLogger) -> None:
        """The loss curve, where matplotlib is installed."""
        if not self._engine.world.main:
            return
        drawn = draw({self._config.system: self._folder}, self._folder.curve)
        if not drawn:
            logger.say("no loss curve: matplotlib is not installed (pip install matplotlib)")

    def data_record(self) -> dict[str, Any]:
        manifest = self._data.manifest
        return {
            "folder": str(self._config.data),
            "fingerprint": manifest.fingerprint,
            "tokenizer_sha256": manifest.tokenizer_sha256,
            "inputs": [record.model_dump(mode="json") for record in manifest.inputs],
        }

    def _snapshot(self, update: int) -> Path:
        return self._folder.snapshots / f"update-{update:08d}.safetensors"

    def _save(self, weights: Weights, update: int, result: Validation, choice: str) -> None:
        config, manifest = self._config, self._data.manifest
        train = manifest.splits["train"]
        training = {
            "update": update,
            "chosen": choice,
            "valid_perplexity": result.perplexity,
            "valid_perplexity_inside": result.perplexity_inside,
            "pairs": train.sentences,
            "documents": train.documents,
            "target_tokens": train.target_tokens,
            # Without folders of this machine: a model is shared, its run is not.
            "data": shareable(self.data_record()),
            "versions": versions(),
            "config": config.model_dump(mode="json", exclude={"data", "output", "warm_start"}),
        }
        if self._warm_start is not None:
            training["warm_start"] = self._warm_start.model_dump(mode="json")
        description = Description(
            model=config.model,
            vocab_size=manifest.vocab_size,
            ratio=manifest.train_ratio.macro,
            context=config.context,
            system=config.system,
            languages=manifest.languages,
            licence=config.card.licence,
            training=training,
        )
        text = card(description, config.card.note)
        save_model(self._folder.model, description, weights, self._data.tokenizer, text, self._lexicon)

    def _kept_lexicon(self) -> Lexicon | None:
        """That of the model that training started from, which may be gone when a run resumes."""
        folders = [folder for folder in (self._folder.model, self._config.warm_start) if folder is not None]
        existing = [folder for folder in folders if (folder / MODEL_JSON).is_file()]
        lexicons = (read_lexicon(folder, read_description(folder)) for folder in existing)
        return next((lexicon for lexicon in lexicons if lexicon is not None), None)


def shareable(record: dict[str, Any]) -> dict[str, Any]:
    """A record of data without its location: files keep their name and their folder's, which distinguishes
    corpora."""
    inputs = [
        record_ | {"paths": ["/".join(Path(path).parts[-2:]).lstrip("/") for path in record_["paths"]]}
        for record_ in record["inputs"]
    ]
    return {key: value for key, value in record.items() if key != "folder"} | {"inputs": inputs}


def average(selection: list[Weights]) -> Weights:
    """The mean of several sets of weights."""
    return {name: torch.stack([model[name] for model in selection]).mean(0) for name in selection[0]}
