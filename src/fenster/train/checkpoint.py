"""Checkpoints: all a run needs to resume, as safetensors and JSON, in a folder that appears complete or not at
all."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from fenster.config import Config
from fenster.data.loader import DataPosition
from fenster.errors import InputError
from fenster.io.files import atomic_folder
from fenster.io.hashing import digest, file_sha256
from fenster.model.model_folder import write_tensors
from fenster.train.update import Engine
from fenster.train.warm_start import WarmStart

FORMAT_VERSION = 2
_STATE = "state.json"


class DamagedCheckpointError(InputError):
    """A checkpoint whose files are not what was written."""


class Progress(Config):
    """Where a run is."""

    update: int = 0
    epoch: int = 0
    portion: int = 0
    batch: int = 0
    """(epoch, portion, batch): the next batch of the data that no process has taken."""
    tokens: int = 0
    """Target tokens trained on."""
    seconds: float = 0.0
    """Training time, of all parts."""
    unlogged: float = 0.0
    """Of it, what came after the last line of the log."""
    skipped: int = 0
    """Updates skipped because a gradient was NaN or infinite."""
    best: float | None = None
    """Lowest validation perplexity, and the update it was found at."""
    best_update: int = 0
    waiting: int = 0
    """Validations since then."""
    finished: str | None = None
    """Why the run ended; None while it may continue."""

    @property
    def position(self) -> DataPosition:
        return DataPosition(self.epoch, self.portion, self.batch)


class State(Config):
    """What a checkpoint says about itself."""

    format_version: int
    progress: Progress
    config: dict[str, Any]
    fingerprint: str
    """Of the prepared data."""
    warm_start: WarmStart | None = None
    """The model that the run started from, if it had a warm start."""
    sha256: dict[str, str] = Field(default_factory=dict)
    """Of each file of tensors, checked before the run resumes."""
    digest: str = ""
    """Of all the rest here; checkpoints of 0.2 and earlier have none."""

    @property
    def warm_started_from(self) -> Path | None:
        """Where that model was then."""
        given = self.config.get("warm_start")
        return None if given is None else Path(given)


def save(folder: Path, state: State, engine: Engine, keep: int) -> None:
    """Write a checkpoint below `folder` and remove all but the newest `keep`. All processes call this."""
    meter = engine.whole_meter()
    if engine.world.main:
        _write(folder / f"update-{state.progress.update:08d}", state, engine, meter)
        for old in complete(folder)[:-keep]:
            shutil.rmtree(old)
    engine.world.wait()


def _write(folder: Path, state: State, engine: Engine, meter: Tensor) -> None:
    with atomic_folder(folder) as temporary:
        write_tensors(temporary / "model.safetensors", dict(engine.parameters))
        write_tensors(temporary / "optimizer.safetensors", _optimizer_tensors(engine, meter))
        if engine.ema is not None:
            write_tensors(temporary / "ema.safetensors", engine.ema)
        hashes = {path.name: file_sha256(path) for path in sorted(temporary.iterdir())}
        state = state.model_copy(update={"sha256": hashes})
        body = state.model_dump(mode="json", exclude={"digest"})
        text = json.dumps({**body, "digest": digest(body)}, indent=1, ensure_ascii=False)
        (temporary / _STATE).write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Sound:
    """The newest undamaged checkpoint of a run."""

    folder: Path
    state: State
    damaged: tuple[Path, ...]
    """Newer ones that are damaged."""


def newest_sound(folder: Path) -> Sound | None:
    """The newest checkpoint below `folder` whose files are what was written; None if there is no checkpoint at all.
    If all are damaged, the error names the newest."""
    damaged: list[Path] = []
    first: InputError | None = None
    for path in reversed(complete(folder)):
        try:
            return Sound(path, read_state(path), tuple(damaged))
        except DamagedCheckpointError as error:
            first = first or error
            damaged.append(path)
    if first is not None:
        raise first
    return None


def set_aside(damaged: Sequence[Path]) -> None:
    """Rename damaged checkpoints, so that nothing is lost and they are not found again."""
    for path in damaged:
        names = (f"damaged-{path.name}" + (f"-{number}" if number > 1 else "") for number in itertools.count(1))
        path.rename(next(free for name in names if not (free := path.with_name(name)).exists()))


def complete(folder: Path) -> list[Path]:
    """Complete checkpoints below `folder`, oldest first."""
    return sorted(path for path in folder.glob("update-*") if (path / _STATE).is_file())


def read_state(folder: Path) -> State:
    """What a checkpoint says about itself, once its files are known to be what was written."""
    try:
        body = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        if body.get("format_version") != FORMAT_VERSION:
            raise InputError(
                f"checkpoint of format {body.get('format_version')}",
                path=folder,
                expected=f"format {FORMAT_VERSION}",
                fix="resume with the version of fenster that wrote it, or train into a new folder",
            )
        state = State.model_validate(body)
        if state.digest and state.digest != digest({key: body[key] for key in body if key != "digest"}):
            raise ValueError(f"{_STATE}: checksum mismatch")
        for name, expected in state.sha256.items():
            if file_sha256(folder / name) != expected:
                raise ValueError(f"{name}: checksum mismatch")
        return state
    except (OSError, ValueError, AttributeError, ValidationError) as error:
        raise _damaged(folder, error) from None


def restore(folder: Path, engine: Engine) -> None:
    """Restore weights, optimizer and averages."""
    try:
        _copy(load_file(folder / "model.safetensors"), {n: p.detach() for n, p in engine.parameters.items()})
        if engine.ema is not None:
            _copy(load_file(folder / "ema.safetensors"), engine.ema)
        tensors = load_file(folder / "optimizer.safetensors")
        for name, parameter in engine.parameters.items():
            kept = engine.optimizer.state[parameter]
            for part in ("exp_avg", "exp_avg_sq", "step"):
                kept[part] = tensors[f"{part}.{name}"].to(engine.world.device)
        engine.set_meter(tensors["meter"])
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise _damaged(folder, error) from None


def _optimizer_tensors(engine: Engine, meter: Tensor) -> dict[str, Tensor]:
    state = engine.optimizer.state
    tensors = {
        f"{part}.{name}": state[parameter][part]
        for name, parameter in engine.parameters.items()
        for part in ("exp_avg", "exp_avg_sq", "step")
    }
    return tensors | {"meter": meter}


def _copy(source: dict[str, Tensor], target: dict[str, Tensor]) -> None:
    if source.keys() != target.keys():
        raise KeyError(f"different names: {sorted(source.keys() ^ target.keys())[:3]}")
    for name, tensor in target.items():
        with torch.no_grad():
            tensor.copy_(source[name])


def _damaged(folder: Path, error: Exception) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"damaged checkpoint ({str(error).partition(chr(10))[0]})",
        path=folder,
        fix="remove this folder: the run resumes from the checkpoint before it, or starts over",
    )
