"""A real Ray cluster of several nodes on one machine: the bytes of one process, whatever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from fenster.bulk.engines.here import Here
from fenster.bulk.engines.ray import ModelFiles, RayCluster
from fenster.bulk.find import find_shards
from fenster.bulk.job import ShardsSummary, translate_shards
from fenster.bulk.manifest import WORK
from fenster.bulk.task import Died
from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from tests.helpers.models import make_loaded, write_model
from tests.helpers.ray_tasks import Deadly
from tests.helpers.shards import contents, documents, write_jsonl, write_parquet
from tests.helpers.waiting import wait_until

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]
CONFIG = DecodeConfig(beam=2, length_ratio=0.5, length_extra=2, threads=1)
PART = 3000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without cores, and two nodes with one each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    size = {"object_store_memory": 80 << 20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **size})
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=80 << 20)
    yield made
    import ray

    ray.shutdown()  # whoever is still connected
    made.shutdown()


@pytest.fixture(scope="module")
def model(toy: PreparedData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(make_loaded(toy, "window"), tmp_path_factory.mktemp("ray") / "model")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_parquet(folder / "a.parquet", documents(120, sentences=6))
    write_jsonl(folder / "b.jsonl.gz", documents(80, sentences=6))
    write_jsonl(folder / "sub" / "c.jsonl", documents(40, sentences=6))
    return folder


@pytest.fixture(scope="module")
def undisturbed(model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What one process makes."""
    output = tmp_path_factory.mktemp("undisturbed")
    translate(model, corpus, output, Here(Translator.load(model, CONFIG, "cpu")))
    return contents(output)


def translate(model: Path, corpus: Path, output: Path, engine: Any) -> ShardsSummary:
    found = find_shards([str(corpus)], str(output), FileOptions(), (model, CONFIG.model_dump()))
    return translate_shards(found, str(output), engine, PART)


def model_actors() -> list[psutil.Process]:
    """The processes that hold a model."""
    return [one for one in psutil.process_iter(["cmdline"]) if "MapWorker" in " ".join(one.info["cmdline"] or ())]


def parts(output: Path) -> int:
    return len(list((output / WORK / "parts").glob("*/*.jsonl")))


def begun(command: list[str], output: Path, log: IO[str]) -> subprocess.Popen[bytes]:
    """A driver that has finished two parts, and is not done."""
    process = subprocess.Popen(command, stdout=log, stderr=log)
    wait_until(lambda: parts(output) >= 2, process)
    return process


def command(model: Path, corpus: Path, output: Path, cluster: Any) -> list[str]:
    settings = ["--beam", "2", "--length-ratio", "0.5", "--length-extra", "2", "--threads", "1", "--device", "cpu"]
    where = ["--ray", cluster.address, "--part-size", str(PART)]
    return [
        sys.executable,
        "-m",
        "fenster",
        "translate",
        str(corpus),
        "-o",
        str(output),
        "-m",
        str(model),
        *settings,
        *where,
    ]


def test_a_cluster_writes_what_one_process_writes(
    cluster: Any, model: Path, corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    summary = translate(model, corpus, tmp_path, RayCluster(cluster.address, model, CONFIG, "cpu"))
    assert summary.figures.documents == 240 and len(summary.translated) == 3 and not summary.failed
    assert contents(tmp_path) == undisturbed
    again = translate(model, corpus, tmp_path, RayCluster(cluster.address, model, CONFIG, "cpu"))
    assert again.unchanged == 3


def test_killed_workers_and_nodes_lose_nothing(
    cluster: Any, model: Path, corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    """A worker is killed, then a node, while the driver goes on; another node joins."""
    output, log = tmp_path / "out", tmp_path / "log"
    with log.open("w") as stream:
        process = begun(command(model, corpus, output, cluster), output, stream)
        victims = model_actors()
        assert victims, log.read_text()
        victims[0].kill()
        before = parts(output)
        wait_until(lambda: parts(output) >= before + 2, process)
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
        assert process.wait(180) == 0, log.read_text()
    assert "240 documents" in log.read_text()
    assert contents(output) == undisturbed, "nothing lost, nothing twice"


def test_a_killed_driver_resumes(
    cluster: Any, model: Path, corpus: Path, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    output, log = tmp_path / "out", tmp_path / "log"
    with log.open("w") as stream:
        process = begun(command(model, corpus, output, cluster), output, stream)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(command(model, corpus, output, cluster), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0 and "resuming after" in done.stderr, done.stderr
    assert contents(output) == undisturbed
    assert sorted(path.name for path in (output / WORK).iterdir()) == ["manifest"]


def test_a_task_that_kills_its_workers_is_given_up_alone(cluster: Any, model: Path, tmp_path: Path) -> None:
    tasks = [Deadly(number, tmp_path, dies=number == 1) for number in range(4)]
    made = dict(RayCluster(cluster.address, model, CONFIG, "cpu").run(tasks))
    assert {task.number for task, outcome in made.items() if isinstance(outcome, Died)} == {1}  # type: ignore[attr-defined]
    assert {outcome for outcome in made.values() if not isinstance(outcome, Died)} == {"0 done", "2 done", "3 done"}
    assert len(list(tmp_path.glob("1-*"))) == 3, "tried three times"


def test_what_is_wrong_is_said_once(
    cluster: Any, model: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIG.model_copy(update={"alignment": "nowhere"})
    with pytest.raises(FensterError, match="unknown alignment"):
        translate(model, corpus, tmp_path / "out", RayCluster(cluster.address, model, config, "cpu"))
    for options in (
        ["--ray", "auto", "--workers", "2"],
        ["--ray", "127.0.0.1:1"],
        ["--workers", "2", "--actors-per-gpu", "2"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["translate", str(corpus), "-o", str(tmp_path / "no"), "-m", str(model), *options])
        assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "cannot be combined" in said and "no Ray cluster answers" in said and "requires --ray" in said


def test_the_model_and_the_files_of_settings_travel_to_a_node(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("lamp\tLeuchte\n")
    config = CONFIG.model_copy(update={"glossary": glossary})
    files = ModelFiles.read(model, config)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "node"))
    glossary.unlink()
    folder, there = files.placed(config)
    assert (folder / "model.json").read_bytes() == (model / "model.json").read_bytes()
    assert there.glossary is not None and there.glossary.read_text() == "lamp\tLeuchte\n"
    inode = folder.stat().st_ino
    assert files.placed(config)[0].stat().st_ino == inode, "once per node"


def test_actors_share_a_gpu(
    cluster: Any,
    model: Path,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A node that says it has a GPU: actors are placed there, each with its share (and find none, which is the error
    of all)."""
    import ray.data

    shares: list[float] = []
    mapped = ray.data.Dataset.map_batches

    def noted(dataset: Any, *given: Any, **options: Any) -> Any:
        shares.append(options["num_gpus"])
        return mapped(dataset, *given, **options)

    monkeypatch.setattr(ray.data.Dataset, "map_batches", noted)
    cluster.add_node(num_cpus=2, num_gpus=1, object_store_memory=80 << 20)
    waiting = "no node has a GPU and 1 core: waiting until one joins"
    for actors in (1, 2, 3):
        engine = RayCluster(cluster.address, model, CONFIG, "cuda", actors_per_gpu=actors)
        if actors == 3:  # as if the node had joined later
            monkeypatch.setattr(ray, "nodes", list)
        with pytest.raises(FensterError, match="no GPU"):
            translate(model, corpus, tmp_path / f"out-{actors}", engine)
        assert (waiting in capsys.readouterr().err) == (actors == 3)
    assert shares == [1, 0.5, 0.3333]
