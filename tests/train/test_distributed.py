"""Two processes over gloo, started as a user would, do what one does."""

import os
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from safetensors.torch import load_file

from fenster.train import checkpoint
from fenster.train.run_folder import RunFolder
from fenster.train.trainer import train
from tests.helpers.training import make
from tests.helpers.waiting import DEADLINE, wait_until

TOLERANCE = 1e-4  # relative; sums are made in another order


def nodes(settings: dict[str, Any], folder: Path) -> list[subprocess.Popen[str]]:
    """Two nodes of one process each, which find each other over the loopback and restart what dies."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(make(settings).model_dump(mode="json")))
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
    launch += ["--max-restarts", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}"]
    launch += ["--rdzv-id", folder.name, "--local-addr", "127.0.0.1"]
    return [
        subprocess.Popen(
            [*launch, "-m", "fenster", "train", str(path)],
            stdout=(folder / f"node-{number}.log").open("w"),
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        )
        for number in range(2)
    ]


def start(settings: dict[str, Any], folder: Path, processes: int = 2) -> subprocess.Popen[str]:
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(make(settings).model_dump(mode="json")))
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return subprocess.Popen(
        [*launch, "-m", "fenster", "train", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.slow
@pytest.mark.parametrize("context", [{"kind": "document"}, {"kind": "sentence"}], ids=["document", "sentence"])
def test_two_processes_give_the_loss_curve_of_one(
    settings: dict[str, Any], tmp_path: Path, context: dict[str, Any]
) -> None:
    settings |= {"context": context, "stop": {"updates": 30, "patience": None}, "valid": {"every": 10}}
    settings |= {"optimizer": {"warmup": 10, "lr": 2e-3, "batches": 4}}
    train(make(settings))
    alone = RunFolder(settings["output"])
    settings["output"] = tmp_path / "two"
    process = start(settings, tmp_path)
    told, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, told
    both = RunFolder(tmp_path / "two")
    for kind, keys in (
        ("train", ("loss", "norm", "tokens", "epoch")),
        ("valid", ("perplexity", "tokens", "sentences")),
    ):
        ours, theirs = both.entries(kind), alone.entries(kind)
        assert [entry["update"] for entry in ours] == [entry["update"] for entry in theirs]
        for a, b in zip(ours, theirs, strict=True):
            for key in keys:
                assert a[key] == pytest.approx(b[key], rel=TOLERANCE), f"{key} at update {a['update']}"
    assert told.count("update 30  stop") == 1, "only one process talks"
    state = checkpoint.read_state(checkpoint.complete(both.checkpoints)[-1])
    assert state.progress.epoch == checkpoint.read_state(checkpoint.complete(alone.checkpoints)[-1]).progress.epoch

    # And one process can go on with what two began.
    train(make(settings, stop={"updates": 33, "patience": None}))
    assert both.entries("train")[-1]["update"] == 33


@pytest.mark.slow
def test_a_signal_stops_all_processes_at_the_same_update(settings: dict[str, Any], tmp_path: Path) -> None:
    settings |= {"stop": {"updates": 100_000}, "optimizer": {"batches": 2}, "valid": {"every": 100_000}}
    process = start(settings, tmp_path)
    folder = RunFolder(settings["output"])
    wait_until(lambda: folder.entries("train"), process)
    process.send_signal(signal.SIGTERM)
    told, _ = process.communicate(timeout=DEADLINE)
    assert "stopped by SIGTERM" in told
    assert checkpoint.complete(folder.checkpoints)


@pytest.mark.slow
def test_batches_that_cannot_be_shared(settings: dict[str, Any], tmp_path: Path) -> None:
    process = start(settings, tmp_path)
    told, _ = process.communicate(timeout=DEADLINE)
    assert process.returncode != 0
    assert "optimizer.batches is 1, and 2 processes share them" in told and "--set optimizer.batches=2" in told


@pytest.mark.slow
def test_a_killed_process_of_two_nodes_restarts_and_changes_no_bit(settings: dict[str, Any], tmp_path: Path) -> None:
    settings |= {"stop": {"updates": 60, "patience": None}, "valid": {"every": 20}, "checkpoint": {"every": 10}}
    settings |= {"optimizer": {"warmup": 10, "lr": 2e-3, "batches": 2}, "log": {"every": 5}}
    weights = []
    for name in ("undisturbed", "disturbed"):
        (tmp_path / name).mkdir()
        settings["output"] = tmp_path / name / "run"
        folder = RunFolder(settings["output"])
        both = nodes(settings, tmp_path / name)
        if name == "disturbed":
            wait_until(partial(checkpoint.complete, folder.checkpoints), both[0])
            (victim,) = psutil.Process(both[1].pid).children()
            victim.kill()
        for node in both:
            assert node.wait(DEADLINE) == 0, (tmp_path / name / "node-0.log").read_text()
        assert folder.entries("train")[-1]["update"] == 60
        weights.append(load_file(folder.model / "weights.safetensors"))
    told = "".join((tmp_path / "disturbed" / f"node-{number}.log").read_text() for number in range(2))
    assert "update 10  start: from update 10" in told, "it did not restart from its checkpoint"
    assert "another process of this training died" in told and "Traceback" not in told
    assert (
        all(weights[0][key].equal(weights[1][key]) for key in weights[0]) and weights[0].keys() == weights[1].keys()
    )
