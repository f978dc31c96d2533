"""A run: what it writes, how it ends, how it goes on."""

import json
import math
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.data.tokenizer import TokenizerConfig, learn
from fenster.errors import ConfigError, FensterError, InputError
from fenster.io.hashing import digest
from fenster.language.lexicon import LexiconBuilder
from fenster.model.model_folder import export_model, load_model, save_model
from fenster.model.transformer import Transformer
from fenster.train import checkpoint
from fenster.train.model_selection import average
from fenster.train.run_folder import RunFolder
from fenster.train.stopping import catch_signals
from fenster.train.trainer import train
from fenster.train.update import Engine
from fenster.train.validation import Validation, perplexity
from tests.helpers.training import TINY, make
from tests.helpers.waiting import DEADLINE, wait_until

TIMES = ("seconds", "tokens_per_second")


def curve(folder: Path) -> list[dict[str, Any]]:
    """The log without times and starts: what must not depend on interruptions."""
    kept = [entry for entry in RunFolder(folder).entries() if entry["kind"] != "start"]
    return [{key: value for key, value in entry.items() if key not in TIMES} for entry in kept]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(checkpoint.complete(folder / "checkpoints")[-1] / "model.safetensors")


def assert_same_run(one: Path, other: Path) -> None:
    assert curve(one) == curve(other)
    a, b = weights(one), weights(other)
    assert a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
    best_a, best_b = (load_file(folder / "model" / "weights.safetensors") for folder in (one, other))
    assert all(torch.equal(best_a[name], best_b[name]) for name in best_a)


def test_a_run_leaves_a_whole_record(settings: dict[str, Any], toy: PreparedData) -> None:
    outcome = train(make(settings, log={"every": 3, "probe": 6}, card={"licence": "CC0", "note": "Made up."}))
    folder = RunFolder(outcome.folder)
    assert outcome.stopped is None and outcome.progress.update == 12
    assert outcome.progress.finished == "after 12 updates (stop.updates)"
    assert [entry["update"] for entry in folder.entries("train")] == [3, 6, 9, 12]
    assert [entry["update"] for entry in folder.entries("valid")] == [5, 10, 12]
    assert [entry["update"] for entry in folder.entries("probe")] == [6, 12]
    losses = [entry["loss"] for entry in folder.entries("train")]
    assert losses[-1] < losses[0] and all(math.isfinite(loss) for loss in losses)
    record = json.loads(folder.record.read_text())
    assert record["data"]["fingerprint"] == toy.manifest.fingerprint
    torch_version = torch.__version__.partition("+")[0]
    assert record["packages"]["torch"].partition("+")[0] == torch_version
    assert record["python"] == platform.python_version()
    assert folder.read_config()["model"]["d_model"] == 32
    assert folder.curve.stat().st_size > 1000
    loaded = load_model(folder.model)
    assert loaded.description.training["valid_perplexity"] == min(e["perplexity"] for e in folder.entries("valid"))
    told = loaded.description.training
    assert "folder" not in told["data"] and not {"data", "output"} & told["config"].keys(), "folders of this machine"
    paths = [path for each in told["data"]["inputs"] for path in each["paths"]]
    assert paths and all(len(Path(path).parts) <= 2 and not Path(path).is_absolute() for path in paths)
    card = (folder.model / "README.md").read_text()
    assert "Made up." in card and "CC0" in card and "window attention, w = 6" in card
    assert not list(outcome.folder.glob("**/.*partial*"))


@pytest.mark.slow
def test_the_same_call_again_does_nothing_and_a_higher_limit_goes_on(
    settings: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(make(settings))
    before = curve(settings["output"])
    train(make(settings))
    assert "already finished: after 12 updates" in capsys.readouterr().err
    assert curve(settings["output"]) == before
    train(make(settings, stop={"updates": 20, "patience": None}))
    straight = {**settings, "output": tmp_path / "straight"}
    train(make(straight, stop={"updates": 20, "patience": None}))
    a, b = weights(settings["output"]), weights(tmp_path / "straight")
    assert all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.slow
def test_a_run_in_portions_of_shards_resumes_where_it_was(
    sharded: PreparedData, settings: dict[str, Any], tmp_path: Path
) -> None:
    batch = {**settings["batch"], "tokens": 700, "shards": 2}
    for name, stops in (("straight", [14]), ("resumed", [3, 8, 14])):
        for stop in stops:
            run = {**settings, "data": sharded.folder, "output": tmp_path / name, "batch": batch}
            outcome = train(make(run, stop={"updates": stop, "patience": None}))
        assert outcome.progress.portion or outcome.progress.epoch, "more than one portion was seen"
    one, other = weights(tmp_path / "straight"), weights(tmp_path / "resumed")
    assert all(torch.equal(one[key], other[key]) for key in one)


RUNNER = """
import json, sys, torch
torch.set_num_threads(1)
from fenster.config import check
from fenster.train.config import TrainConfig
from fenster.train.trainer import train
outcome = train(check(json.loads(sys.argv[1]), TrainConfig))
sys.exit(0 if outcome.stopped is None else 128 + outcome.stopped)
"""


def start(settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER, json.dumps(settings, default=str)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.slow
def test_killed_at_random_moments_the_run_is_the_same(settings: dict[str, Any], tmp_path: Path) -> None:
    """kill -9 during start, updates, validation and checkpoints, again and again, until one attempt comes through."""
    settings |= {
        "stop": {"updates": 240, "patience": None},
        "valid": {"every": 20},
        "checkpoint": {"every": 7},
        "average": {"ema": 0.9, "last": 3},
    }
    straight = {**settings, "output": tmp_path / "straight"}
    assert start(straight).wait(timeout=DEADLINE) == 0
    rng = random.Random(3)
    kills, resumed = 0, 0
    while True:
        process = start(settings)
        patience = rng.uniform(0.2, 3.0)
        checkpoints = settings["output"] / "checkpoints"
        known = set(checkpoint.complete(checkpoints))
        if kills < 5:
            # Wait until this attempt has come further than the last, then strike at some moment after that.
            wait_until(lambda: process.poll() is not None or not set(checkpoint.complete(checkpoints)) <= known)  # noqa: B023
            time.sleep(0.1 * patience)
            process.kill()
            resumed += bool(known)
        code = process.wait(timeout=DEADLINE)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        kills += 1
    assert kills >= 2 and resumed >= 1, "the run was over before it could be killed: make it longer"
    assert_same_run(settings["output"], tmp_path / "straight")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_a_clean_stop(settings: dict[str, Any], number: signal.Signals) -> None:
    settings |= {"stop": {"updates": 100_000}, "checkpoint": {"every": 100_000}, "valid": {"every": 100_000}}
    process = start(settings)
    folder = RunFolder(settings["output"])
    wait_until(lambda: folder.entries("train"), process)
    process.send_signal(number)
    assert process.wait(timeout=DEADLINE) == 128 + number
    (place,) = checkpoint.complete(folder.checkpoints)
    assert checkpoint.read_state(place).progress.update >= 3


def test_a_second_process_is_refused(settings: dict[str, Any]) -> None:
    folder = RunFolder(settings["output"])
    with folder.locked():
        assert folder.running()
        with pytest.raises(FensterError, match="another process is training here"):
            train(make(settings))
    assert not folder.running()


def test_other_settings_are_refused_with_their_keys(settings: dict[str, Any]) -> None:
    train(make(settings))
    with pytest.raises(ConfigError, match="different settings") as told:
        train(make(settings, seed=5, optimizer={"warmup": 11, "lr": 2e-3}))
    assert "optimizer.warmup: 10 -> 11" in str(told.value) and "seed: 1 -> 5" in str(told.value)
    train(make(settings, log={"every": 1}, checkpoint={"every": 2}))  # these change no number


def test_other_data_is_refused(settings: dict[str, Any]) -> None:
    train(make(settings))
    place = checkpoint.complete(settings["output"] / "checkpoints")[-1]
    state = json.loads((place / "state.json").read_text())
    forged = {key: value for key, value in state.items() if key != "digest"} | {"fingerprint": "0" * 64}
    (place / "state.json").write_text(json.dumps({**forged, "digest": digest(forged)}))
    with pytest.raises(InputError, match="trained on different data"):
        train(make(settings))


@pytest.mark.parametrize("name", ["state.json", "model.safetensors", "optimizer.safetensors"])
def test_a_damaged_checkpoint_is_named(settings: dict[str, Any], name: str) -> None:
    train(make(settings, checkpoint={"every": 4, "keep": 1}))
    (folder,) = checkpoint.complete(settings["output"] / "checkpoints")
    (folder / name).write_bytes(b"{ not what it was")
    with pytest.raises(InputError, match=r"update-00000012.*damaged checkpoint") as told:
        train(make(settings, stop={"updates": 13}))
    assert "remove this folder" in str(told.value)


@pytest.mark.parametrize("name", ["state.json", "model.safetensors", "optimizer.safetensors"])
def test_a_damaged_checkpoint_is_set_aside(
    settings: dict[str, Any], tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run resumes from the one before, and ends as if nothing had happened; a single flipped bit is enough."""
    train(make(settings, output=tmp_path / "straight", stop={"updates": 16, "patience": None}))
    train(make(settings))
    folder = settings["output"] / "checkpoints"
    kept = [path.name for path in checkpoint.complete(folder)]
    assert kept == ["update-00000008", "update-00000012"]
    data = bytearray((folder / "update-00000012" / name).read_bytes())
    data[len(data) // 2] ^= 64
    (folder / "update-00000012" / name).write_bytes(data)
    train(make(settings, stop={"updates": 16, "patience": None}))
    assert "is damaged: set aside, resuming from update 8" in " ".join(capsys.readouterr().err.split())
    assert (folder / "damaged-update-00000012").is_dir(), "nothing is lost"
    assert_same_run(settings["output"], tmp_path / "straight")


def test_a_better_model_is_not_overwritten_after_falling_back(settings: dict[str, Any]) -> None:
    train(make(settings, valid={"every": 4}))
    output = settings["output"]
    model = output / "model" / "model.json"
    description = json.loads(model.read_text())
    assert description["training"]["update"] == 12
    model.write_text(json.dumps(description | {"training": description["training"] | {"valid_perplexity": 1.5}}))
    (output / "checkpoints" / "update-00000012" / "state.json").write_text("{")
    train(make(settings, valid={"every": 4}))
    assert json.loads(model.read_text())["training"]["valid_perplexity"] == 1.5


def test_updates_that_are_not_a_number_are_skipped_and_counted(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bad batch changes no weight; the run goes on."""
    step, seen = Engine._plain_step, []

    def bad(self: Engine, inputs: Any) -> None:
        step(self, inputs)
        seen.append(1)
        if len(seen) in (2, 5):
            next(iter(self.parameters.values())).grad.fill_(math.nan)  # type: ignore[union-attr]

    monkeypatch.setattr(Engine, "_plain_step", bad)
    outcome = train(make(settings))
    assert outcome.progress.skipped == 2
    log = RunFolder(outcome.folder).entries("train")
    assert [entry["skipped"] for entry in log] == [1, 2, 2, 2]
    assert all(math.isfinite(entry["loss"]) for entry in log)
    assert all(torch.isfinite(tensor).all() for tensor in weights(outcome.folder).values())


def test_many_bad_updates_in_a_row_stop_with_advice(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Engine._plain_step

    def bad(self: Engine, inputs: Any) -> None:
        step(self, inputs)
        self._sums += math.nan
        for parameter in self.parameters.values():
            parameter.grad.fill_(math.inf)  # type: ignore[union-attr]

    monkeypatch.setattr(Engine, "_plain_step", bad)
    with pytest.raises(FensterError, match=r"gradient of 6 updates in a row") as told:
        train(make(settings, optimizer={"bad_updates": 4}))
    assert "optimizer.lr" in str(told.value)


def test_out_of_memory_names_the_batch(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Engine, inputs: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Engine, "_plain_step", full)
    with pytest.raises(FensterError, match=r"out of memory at update 1, in a batch of \d+ examples") as told:
        train(make(settings))
    assert "batch.tokens (now 600)" in str(told.value) and "checkpointing: ffn or layers" in str(told.value)


def test_early_stopping(settings: dict[str, Any]) -> None:
    settings |= {"optimizer": {"lr": 1e-12}, "valid": {"every": 2}, "stop": {"updates": 100, "patience": 3}}
    outcome = train(make(settings, seed=4))
    assert outcome.progress.finished is not None and "without a better perplexity" in outcome.progress.finished
    assert outcome.progress.update == outcome.progress.best_update + 3 * 2


@pytest.mark.slow
@pytest.mark.parametrize("stop", [{"epochs": 2}, {"minutes": 0.02}])
def test_other_limits(settings: dict[str, Any], stop: dict[str, Any]) -> None:
    outcome = train(make(settings, stop={"updates": None, "patience": None, **stop}))
    assert outcome.progress.finished is not None and next(iter(stop)) in outcome.progress.finished
    if "epochs" in stop:
        assert (outcome.progress.epoch, outcome.progress.batch) == (2, 0)


def test_averages(settings: dict[str, Any]) -> None:
    train(make(settings, average={"ema": 0.5, "last": 2}))
    folder = RunFolder(settings["output"])
    snapshots = sorted(folder.snapshots.iterdir())
    assert [path.stem for path in snapshots] == ["update-00000005", "update-00000010"]
    place = checkpoint.complete(folder.checkpoints)[-1]
    ema, raw = load_file(place / "ema.safetensors"), load_file(place / "model.safetensors")
    assert any(not torch.equal(ema[name], raw[name]) for name in raw)
    mean = [entry for entry in folder.entries("valid") if entry.get("weights") == "mean of 2 validations"]
    assert len(mean) == 1
    first, second = map(load_file, snapshots)
    found = average([first, second])
    assert found.keys() == first.keys()
    assert all(torch.allclose(found[name], (first[name] + second[name]) / 2) for name in found)
    best = min(entry["perplexity"] for entry in folder.entries("valid"))
    assert mean[0]["best"] == (mean[0]["perplexity"] == best)
    assert load_model(folder.model).description.training["valid_perplexity"] == best


def test_the_moving_average_is_what_it_is_called(settings: dict[str, Any]) -> None:
    """decay * before + (1 - decay) * now, after every update."""
    decay = 0.9
    config = make(settings, average={"ema": decay}, checkpoint={"every": 1, "keep": 4}, stop={"updates": 3})
    train(config)
    places = checkpoint.complete(RunFolder(settings["output"]).checkpoints)
    raw, ema = ([load_file(place / f"{name}.safetensors") for place in places] for name in ("model", "ema"))
    for name in raw[0]:
        for before, now, average_now in zip(ema, raw[1:], ema[1:], strict=False):
            wanted = decay * before[name] + (1 - decay) * now[name]
            torch.testing.assert_close(average_now[name], wanted, rtol=1e-5, atol=1e-7)
    moved = [name for name in raw[0] if not torch.allclose(raw[0][name], raw[1][name])]
    assert any(not torch.allclose(ema[1][name], raw[1][name], rtol=1e-4) for name in moved)


def test_speed_after_a_pause_is_that_of_training(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens between the last log line and the checkpoint come with the time that they took."""
    clock = [0.0]
    monkeypatch.setattr("fenster.train.trainer.time.monotonic", lambda: clock[0])
    update = Engine.update

    def slow(self: Engine, *arguments: Any) -> None:
        clock[0] += 10
        update(self, *arguments)

    monkeypatch.setattr(Engine, "update", slow)
    changes: dict[str, Any] = {"log": {"every": 4}, "checkpoint": {"every": 1}, "valid": {"every": 100}}
    train(make(settings, **changes, stop={"updates": 7}))
    clock[0] += 1000
    train(make(settings, **changes, stop={"updates": 8}))
    entries = RunFolder(settings["output"]).entries("train")
    tokens = entries[-1]["tokens"] - entries[-2]["tokens"]
    assert entries[-1]["update"] == 8 and entries[-1]["tokens_per_second"] == pytest.approx(tokens / 40)


def test_what_is_no_number_is_never_the_best() -> None:
    worst = Validation(perplexity(float("nan")), 1.0, 1, 1)
    assert not worst.better_than(None) and not Validation(perplexity(1e9), 1.0, 1, 1).better_than(None)
    assert Validation(7.0, 1.0, 1, 1).better_than(None) and not Validation(7.0, 1.0, 1, 1).better_than(7.0)


@pytest.mark.slow
def test_accumulated_batches_are_one_large_batch(settings: dict[str, Any], tmp_path: Path) -> None:
    """Gradients are normalised by the tokens of all batches of an update: two halves equal the whole."""
    settings |= {"model": {**settings["model"], "dropout": 0.0}, "log": {"every": 1}, "stop": {"updates": 1}}
    settings |= {"context": {"kind": "sentence"}, "batch": {"tokens": 100_000}}
    whole = make(settings, optimizer={"clip": None, "warmup": 1, "batches": 1})
    train(whole)
    train(make(settings, output=tmp_path / "two", optimizer={"clip": None, "warmup": 1, "batches": 2}))
    one, two = (RunFolder(folder).entries("train")[0] for folder in (settings["output"], tmp_path / "two"))
    assert two["tokens"] == 2 * one["tokens"]  # the whole data set twice
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-6)
    assert two["norm"] == pytest.approx(one["norm"], rel=1e-5)


def test_the_rate_rises_and_falls(settings: dict[str, Any]) -> None:
    train(make(settings, optimizer={"lr": 1e-3, "warmup": 6}, log={"every": 1}))
    rates = [entry["lr"] for entry in RunFolder(settings["output"]).entries("train")]
    assert rates[:6] == pytest.approx([1e-3 * n / 6 for n in range(1, 7)])
    assert rates[6:] == pytest.approx([1e-3 * (6 / n) ** 0.5 for n in range(7, 13)])


@pytest.mark.slow
def test_a_cooldown_ends_with_the_run_and_moves_with_its_end(settings: dict[str, Any]) -> None:
    optimizer = {"lr": 1e-3, "warmup": 2, "cooldown": 4}
    train(make(settings, optimizer=optimizer, log={"every": 1}))

    def rates() -> list[float]:
        return [entry["lr"] for entry in RunFolder(settings["output"]).entries("train")]

    full = [1e-3 * (2 / n) ** 0.5 for n in range(2, 17)]
    cooling = [1, 3 / 4, 2 / 4, 1 / 4]
    assert rates()[1:] == pytest.approx([*full[:7], *(full[7 + n] * cooling[n] for n in range(4))])
    train(make(settings, optimizer=optimizer, log={"every": 1}, stop={"updates": 16}))
    assert rates()[12:] == pytest.approx([full[11 + n] * cooling[n] for n in range(4)])


def test_a_run_does_not_go_among_its_data(settings: dict[str, Any], toy: PreparedData) -> None:
    with pytest.raises(FensterError, match="is a folder of prepared data"):
        train(make(settings, output=toy.folder))
    assert not (toy.folder / ".lock").exists()


@pytest.mark.parametrize("stop", [{"updates": 3}, {"updates": None, "minutes": 1}])
def test_a_cooldown_needs_an_end_to_count_back_from(settings: dict[str, Any], stop: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"cooldown: 4 counts back from stop\.updates"):
        make(settings, optimizer={"cooldown": 4}, stop=stop)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["ffn", "layers"])
def test_checkpointing_changes_no_number(settings: dict[str, Any], tmp_path: Path, what: str) -> None:
    train(make(settings))
    train(make(settings, output=tmp_path / "again", checkpointing=what))
    assert_same_run(settings["output"], tmp_path / "again")


@pytest.mark.slow
def test_a_run_may_begin_with_another_model(
    settings: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = {**TINY, "positions": "sinusoidal", "attention": {"kind": "full"}}
    first = train(make(settings, output=tmp_path / "first", model=sentence, card={"licence": "CC0"}))
    model = {**sentence, "attention": {"kind": "lst"}, "decoder_layers": 2}
    changes: dict[str, Any] = {
        "model": model,
        "warm_start": tmp_path / "first" / "model",
        "optimizer": {"warmup": 10, "lr": 1e-6},
    }
    capsys.readouterr()
    train(make(settings, **changes, stop={"updates": 6}))
    told = " ".join(capsys.readouterr().err.split())
    assert "warm start from" in told and "newly initialised, at least in part" in told
    loaded = load_model(settings["output"] / "model")
    assert torch.allclose(
        loaded.model.embedding.weight, load_model(changes["warm_start"]).model.embedding.weight, atol=1e-4
    )
    initial = loaded.description.training["warm_start"]
    assert initial["system"] == "concat 1000 tok." and initial["licence"] == "CC0"
    assert "warm_start" not in loaded.description.training["config"], "a folder of this machine"
    assert "warm start from the weights of another model" in (settings["output"] / "model" / "README.md").read_text()
    assert [Path(name).name for name in initial["trained_on"]] == ["train.jsonl"]
    first.folder.rename(tmp_path / "moved")  # a run that goes on does not need it
    train(make(settings, **changes | {"warm_start": tmp_path / "elsewhere"}, stop={"updates": 12}))
    again = load_model(settings["output"] / "model").description.training
    assert again["update"] > 6 and again["warm_start"] == initial
    assert RunFolder(settings["output"]).read_config()["warm_start"] == str(changes["warm_start"]), (
        "where it really began"
    )
    with pytest.raises(ConfigError, match="warm_start: 'a model' -> None"):
        train(make(settings, **changes | {"warm_start": None}, stop={"updates": 15}))
    last = make(settings, model=model, warm_start=settings["output"] / "model", output=tmp_path / "third")
    train(last)
    told_twice = load_model(tmp_path / "third" / "model").description.training["warm_start"]["trained_on"]
    assert told_twice == initial["trained_on"], "the first model's data is in the third one's weights"


@pytest.mark.parametrize(("choose", "update"), [("best", 4), ("last", 12)])
def test_which_weights_a_run_leaves(
    settings: dict[str, Any], choose: str, update: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every validation is worse than the one before."""
    worse = iter(Validation(float(number), 1.0, 1, 1) for number in range(5, 100))
    monkeypatch.setattr("fenster.train.validation.Validator.run", lambda *_: next(worse))
    train(make(settings, valid={"every": 4, "choose": choose}))
    assert load_model(settings["output"] / "model").description.training["update"] == update


def test_an_anchor_holds_and_survives_a_pause(settings: dict[str, Any], tmp_path: Path) -> None:
    """Weights are pulled towards those of the warm start, also after the run has resumed."""
    start = train(make(settings, output=tmp_path / "first")).folder / "model"
    own = load_model(start).model.state_dict()

    def moved(folder: Path) -> float:
        now = load_model(folder / "model").model.state_dict()
        return sum(float((now[name] - own[name]).square().sum()) for name in own)

    usual: dict[str, Any] = {"warm_start": start, "valid": {"every": 12}}
    held = usual | {"optimizer": {"warmup": 10, "lr": 2e-3, "anchor": 100}}
    free = train(make(settings, **usual, output=tmp_path / "free")).folder
    straight = train(make(settings, **held, output=tmp_path / "straight")).folder
    assert moved(straight) < 0.8 * moved(free)
    train(make(settings, **held, stop={"updates": 6, "patience": None}))
    train(make(settings, **held))
    again, once = (load_model(folder / "model").model.state_dict() for folder in (settings["output"], straight))
    assert all(torch.equal(again[name], once[name]) for name in once)
    with pytest.raises(ConfigError, match="is not the model that this run started from"):
        train(make(settings, **held | {"warm_start": free / "model"}, stop={"updates": 15, "patience": None}))
    with pytest.raises(ConfigError, match="anchor pulls towards the weights of warm_start"):
        make(settings, optimizer=held["optimizer"])


def test_the_lexicon_of_the_model_that_training_starts_from_is_kept(settings: dict[str, Any], tmp_path: Path) -> None:
    train(make(settings, output=tmp_path / "first"))
    builder = LexiconBuilder()
    builder.add("the lamp", "die Lampe")
    export_model(tmp_path / "first" / "model", tmp_path / "given", bits=16, lexicon=builder.lexicon())
    train(make(settings, warm_start=tmp_path / "given"))
    lexicon = load_model(settings["output"] / "model").lexicon
    assert lexicon is not None and "lamp" in lexicon and "table" not in lexicon


def test_a_model_that_does_not_fit_is_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    train(make(settings, output=tmp_path / "first"))
    there = tmp_path / "first" / "model"
    with pytest.raises(ConfigError, match=r"does not fit this model: .* is .* in that model and .* in this one"):
        train(make(settings, warm_start=there, model={**TINY, "ffn": 128}))
    with pytest.raises(ConfigError, match="heads is 2 in that model and 4 in this one"):
        train(make(settings, warm_start=there, model={**TINY, "heads": 4}))
    with pytest.raises(ConfigError, match="norm is post in that model and pre in this one"):
        train(make(settings, warm_start=there, model={**TINY, "norm": "pre"}))
    with pytest.raises(InputError, match="not a model folder"):
        train(make(settings, warm_start=tmp_path))
    other = learn([f"other words {number}" for number in range(200)], TokenizerConfig(vocab_size=300))
    loaded = load_model(there)
    small = Transformer(loaded.description.model, len(other))
    save_model(
        there, loaded.description.model_copy(update={"vocab_size": len(other)}), small.state_dict(), other, "a card"
    )
    with pytest.raises(InputError, match="its tokenizer is not that of the data"):
        train(make(settings, warm_start=there))


@pytest.mark.parametrize("said", [True, "on"])
def test_switches_are_what_yaml_makes_of_them(settings: dict[str, Any], said: bool | str) -> None:
    config = make(settings, compile=said, graphs=False)
    assert (config.compile, config.graphs) == ("on", "off")


def test_configs_are_saved_as_they_can_be_read(settings: dict[str, Any]) -> None:
    config = make(settings)
    train(config)
    again = yaml.safe_load((settings["output"] / "config.yaml").read_text())
    assert make({}, **again) == config


@pytest.mark.slow
def test_a_limit_that_was_lowered_ends_the_run_properly(settings: dict[str, Any]) -> None:
    """A run that stopped before any validation, and now has reached its limit: its model is made all the same."""
    settings |= {"stop": {"updates": 100_000}, "valid": {"every": 100_000}}
    process = start(settings)
    folder = RunFolder(settings["output"])
    wait_until(lambda: folder.entries("train"), process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=DEADLINE) == 128 + signal.SIGTERM
    outcome = train(make(settings, stop={"updates": 1}))
    assert outcome.progress.finished is not None and outcome.progress.best is not None
    assert load_model(folder.model).description.training["chosen"] == "last weights"
    assert folder.entries("stop")


@pytest.mark.slow
def test_a_damaged_log_is_read_as_far_as_it_goes(settings: dict[str, Any]) -> None:
    train(make(settings))
    folder = RunFolder(settings["output"])
    before = folder.entries()
    with folder.log.open("ab") as out:
        out.write(b'{}\n5\n{"kind": "train", "text": "\xc3')
    assert folder.entries() == before
    train(make(settings, stop={"updates": 13, "patience": None}))
    assert folder.entries("train")[-1]["update"] == 12


@pytest.mark.slow
def test_old_snapshots_are_not_averaged(settings: dict[str, Any]) -> None:
    settings |= {"average": {"last": 2}, "valid": {"every": 3}}
    train(make(settings))
    folder = RunFolder(settings["output"])
    for place in checkpoint.complete(folder.checkpoints):
        shutil.rmtree(place)
    train(make(settings, stop={"updates": 6, "patience": None}))
    assert sorted(path.stem for path in folder.snapshots.iterdir()) == ["update-00000003", "update-00000006"]


def test_an_ignored_signal_stays_ignored(settings: dict[str, Any]) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with catch_signals() as caught:
            os.kill(os.getpid(), signal.SIGHUP)
        assert caught == []
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer": {"betas": [1.5, 2]}}, "betas"),
        ({"seed": 10**30}, "seed"),
        ({"optimizer": {"lr": math.inf}}, "optimizer.lr"),
        ({"stop": {"updates": None, "patience": None}}, "never ends"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(settings, **changes)


def test_runs_are_listed_whatever_their_log_lacks(
    settings: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    train(make(settings, stop={"updates": 3}))
    folder = RunFolder(settings["output"])
    with folder.log.open("a") as log:
        for entry in ({"loss": None, "perplexity": None, "seconds": 7200}, {"kind": "valid"}, {}):
            log.write(json.dumps({"kind": "train", "update": 6, **entry}) + "\n")
    capsys.readouterr()
    main(["runs", str(folder.path)])
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(f" {folder.path}"))
    assert " 6 " in row and row.rstrip().endswith("-")
    main(["runs", str(folder.path), "--plot", str(folder.path / "all.png")])
    assert (folder.path / "all.png").stat().st_size > 1000
    with pytest.raises(SystemExit) as ended:
        main(["runs", str(folder.path), "--plot", "x.yaml"])
    assert ended.value.code == 2 and "unsupported image format" in capsys.readouterr().err
