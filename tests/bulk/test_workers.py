"""Several files on several processes: the same results as on one, also when processes are killed."""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import psutil
import pytest

from fenster.bulk.engines import processes
from fenster.bulk.files import FileTask
from fenster.bulk.task import Died, Task
from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.files.translate import FileSummary
from tests.helpers.models import make_loaded, write_model

pytestmark = pytest.mark.slow
OPTIONS = ["--beam", "2", "--threads", "1", "--device", "cpu"]


@pytest.fixture
def corpus(tmp_path: Path, toy: PreparedData) -> tuple[Path, list[str]]:
    """A model, and files of different lengths, one of them compressed."""
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    for number in range(4):
        records = [
            {
                "source": f"Here is the lamp of {name}.",
                "document": f"{number}-{part}",
                "id": f"{number}.{part}.{name}",
            }
            for part in range(number + 1)
            for name in ("Anna", "Ben", "Carl")
        ]
        text = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"{number}.jsonl").write_text(text)
    (tmp_path / "4.txt.xz").write_bytes(lzma.compress(b"Here is the lamp.\n\nIt is very old.\n"))
    files = [str(tmp_path / name) for name in ("0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "4.txt.xz")]
    return model, files


def contents(folder: Path) -> dict[str, list[str]]:
    """What was written, without times."""
    made = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".jsonl" and not path.name.startswith("."):
            records = [json.loads(line) for line in path.read_text().splitlines()]
            made[path.name] = [json.dumps({k: v for k, v in one.items() if k != "seconds"}) for one in records]
        elif not path.name.startswith("."):
            made[path.name] = [path.read_bytes().hex()]
    return made


def test_workers_write_what_one_process_writes(
    corpus: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, files = corpus
    for name, extra in (("one", []), ("two", ["--workers", "2"])):
        main(["translate", *files, "-m", str(model), "-o", str(tmp_path / name), *OPTIONS, *extra])
    printed = capsys.readouterr()
    assert printed.out.count("5 files translated") == 2 and "per second" in printed.err
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert sorted(one) == ["0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "4.txt.xz"]
    assert one == two, "shard by shard, in order, with their ids"
    assert [json.loads(line)["id"] for line in two["1.jsonl"]][:3] == ["1.0.Anna", "1.0.Ben", "1.0.Carl"]
    main(["translate", *files, "-m", str(model), "-o", str(tmp_path / "two"), *OPTIONS, "--workers", "2"])
    assert "5 unchanged" in capsys.readouterr().out
    (tmp_path / "bad.jsonl").write_text('{"source": 7}\n')
    with pytest.raises(SystemExit):
        bad = [*files, str(tmp_path / "bad.jsonl")]
        main(["translate", *bad, "-m", str(model), "-o", str(tmp_path / "two"), *OPTIONS, "--workers", "2"])
    assert "1 file could not be translated: bad.jsonl" in capsys.readouterr().err


def test_a_killed_worker_loses_nothing(corpus: tuple[Path, list[str]], tmp_path: Path) -> None:
    model, files = corpus
    lines = [{"source": f"Here is the lamp of number {n}.", "id": str(n)} for n in range(60)]
    for name in ("5.jsonl", "6.jsonl", "7.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        files.append(str(tmp_path / name))
    command = [sys.executable, "-m", "fenster", "translate", *files, "-m", str(model), *OPTIONS]
    subprocess.run([*command, "-o", str(tmp_path / "undisturbed")], check=True, capture_output=True)
    disturbed = tmp_path / "disturbed"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen([*command, "-o", str(disturbed), "--workers", "2"], stderr=log, stdout=log)
        deadline = time.monotonic() + 120
        while not list(disturbed.glob(".*.unfinished.jsonl")):
            assert time.monotonic() < deadline and process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.05)
        victims = [
            child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())
        ]
        os.kill(victims[-1].pid, signal.SIGKILL)
        assert process.wait(180) == 0, (tmp_path / "log").read_text()
    assert "a worker died" in (tmp_path / "log").read_text()
    assert contents(disturbed) == contents(tmp_path / "undisturbed")


def test_only_the_file_that_kills_its_workers_is_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [
        FileTask(tmp_path / f"{number}.txt", tmp_path / "out" / f"{number}.txt", FileOptions()) for number in range(6)
    ]
    for number, task in enumerate(tasks):
        task.file.write_text("x" * (10 - number))
    rounds = []

    def dying(left: list[FileTask], count: int, arguments: object) -> Iterator[tuple[Task, FileSummary]]:
        """The second file kills its worker, as soon as it is taken."""
        rounds.append([task.file.stem for task in left])
        if tasks[1] in left[:count]:
            raise BrokenProcessPool
        yield from ((task, FileSummary()) for task in left)

    monkeypatch.setattr(processes, "_round", dying)
    made = dict(processes.Processes(3, tmp_path, DecodeConfig(), "cpu").run(tasks))
    assert [task.name for task, outcome in made.items() if isinstance(outcome, Died)] == [str(tmp_path / "1.txt")]
    assert len(made) == 6 and rounds[0] == ["0", "1", "2", "3", "4", "5"] and rounds.count(["1"]) == 3


def test_a_model_that_cannot_be_loaded_is_one_error(corpus: tuple[Path, list[str]], tmp_path: Path) -> None:
    model, files = corpus
    next(model.glob("weights*.safetensors")).write_bytes(b"damaged")
    command = [sys.executable, "-m", "fenster", "translate", *files, "-m", str(model), *OPTIONS, "--workers", "2"]
    done = subprocess.run([*command, "-o", str(tmp_path / "out")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "corrupted" in done.stderr and "Traceback" not in done.stderr


def test_an_interrupt_ends_all_workers_and_the_same_command_resumes(
    corpus: tuple[Path, list[str]], tmp_path: Path
) -> None:
    model, files = corpus
    lines = [{"source": f"Here is the lamp of number {n}.", "id": str(n)} for n in range(120)]
    (tmp_path / "5.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "fenster", "translate", *files, str(tmp_path / "5.jsonl"), "-m", str(model)]
    command += [*OPTIONS, "--workers", "2", "-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "out").glob(".5.jsonl.unfinished.jsonl")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive, "no worker is left behind"
    assert subprocess.run(command, capture_output=True, timeout=180).returncode == 0
    assert len((tmp_path / "out" / "5.jsonl").read_text().splitlines()) == 120


def test_workers_end_with_a_driver_that_is_killed(corpus: tuple[Path, list[str]], tmp_path: Path) -> None:
    model, files = corpus
    lines = [{"source": f"Here is the lamp of number {n}.", "id": str(n)} for n in range(120)]
    (tmp_path / "5.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "fenster", "translate", *files, str(tmp_path / "5.jsonl"), "-m", str(model)]
    command += [*OPTIONS, "--workers", "2", "-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "out").glob(".5.jsonl.unfinished.jsonl")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait(20)
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive, "no worker is left behind"
    done = subprocess.run(command, capture_output=True, timeout=180, text=True)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out" / "5.jsonl").read_text().splitlines()) == 120
