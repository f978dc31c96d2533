"""Fine-tune a model on a user's own translations, in one call with safe settings.

The documents are split into training and held-out ones. Training starts from the model's weights, includes general
text if there is any (otherwise weights are pulled back towards the old ones), and stops when held-out text no longer
improves. The old and the new model are then compared on held-out text of both kinds, and the new one is written only
if it is better. After an interruption, finished work is not repeated.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fenster.adapt.comparison import Comparison, compare
from fenster.adapt.corpus import AdaptationCorpus, as_tsv, pairs_in, read_own, read_replayed
from fenster.adapt.settings import prepare_config, train_config
from fenster.data.prepare import prepare
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError, FensterError, InputError
from fenster.io.files import atomic_path
from fenster.io.hashing import digest
from fenster.io.progress import report
from fenster.model.description import read_description
from fenster.model.model_folder import export_model
from fenster.train.trainer import train


@dataclass(frozen=True)
class Adaptation:
    """The outcome of an adaptation."""

    comparisons: tuple[Comparison, ...]
    """On held-out text: the user's own and, if there was some, general text."""
    stopped: int | None = None
    """The signal that interrupted training, if one did: nothing is written yet, and the same call resumes."""


def adapt(
    memories: Sequence[Path],
    output: Path,
    model: Path,
    *,
    general: Sequence[Path] = (),
    minutes: float | None = None,
    decoding: DecodeConfig | None = None,
    device: str = "auto",
) -> Adaptation:
    """Fine-tune `model` on the translations in `memories` and write it to `output`, in 8 bits. `decoding` is how the
    models are compared."""
    description = read_description(model)
    if output.exists() and not (output / "model.json").is_file():
        raise InputError("exists, and is not a model folder", path=output, fix="choose another output")
    if output.resolve() == model.resolve():
        raise ConfigError("a model cannot overwrite itself", path=output, fix="choose another output")
    corpora = {"own": read_own(memories)}
    if general:
        corpora["general"] = read_replayed(general, pairs_in(corpora["own"].train))
    work = output.with_name(f"{output.name}.work")
    _lay_out(work, corpora, description.sha256)
    own = corpora["own"]
    report(f"{pairs_in(own.train):,} pairs to train on, {pairs_in(own.held_out):,} held out; working in {work}")
    prepared = prepare(prepare_config(description, model, work, list(corpora))).prepared
    outcome = train(train_config(description, model, work, prepared.manifest, minutes=minutes, device=device))
    if outcome.stopped is not None:
        return Adaptation((), outcome.stopped)
    adapted = work / "run" / "model"
    comparisons = tuple(
        compare(f"{name} text", corpus.held_out, model, adapted, decoding or DecodeConfig(beam=4), device)
        for name, corpus in corpora.items()
    )
    if not comparisons[0].is_better:
        raise FensterError(
            f"the adapted model is no better on held-out text: {', '.join(comparisons[0].cells)}",
            path=adapted,
            fix="provide more text, or keep using the original model",
        )
    export_model(adapted, output, _card(adapted, comparisons))
    shutil.rmtree(work)
    return Adaptation(comparisons)


def _lay_out(work: Path, corpora: dict[str, AdaptationCorpus], model: dict[str, str]) -> None:
    """The text in files below `work`; what an earlier call with other text or another model left there is removed."""
    texts = {
        f"{name}.{split}.tsv": as_tsv(documents)
        for name, corpus in corpora.items()
        for split, documents in (("train", corpus.train), ("valid", corpus.held_out))
    }
    key = digest([texts, model])
    stamp = work / "key"
    if work.exists() and (not stamp.is_file() or stamp.read_text(encoding="utf-8") != key):
        if not stamp.is_file() and any(work.iterdir()):
            raise InputError(
                "already exists and was not made by `fenster adapt`", path=work, fix="choose another output"
            )
        shutil.rmtree(work)
    work.mkdir(parents=True, exist_ok=True)
    for name, text in {"key": key, **texts}.items():
        with atomic_path(work / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _card(adapted: Path, comparisons: Sequence[Comparison]) -> str:
    """The run's model card, and what the adaptation changed."""
    card = (adapted / "README.md").read_text(encoding="utf-8").rstrip()
    rows = "".join(f"| {' | '.join(one.cells)} |\n" for one in comparisons)
    return f"{card}\n\n## Before and after, on held-out text\n\n| | pairs | BLEU | chrF |\n|---|---|---|---|\n{rows}"
