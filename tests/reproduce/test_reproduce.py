"""Tables of the paper from the corpora at hand: which commands, in which order, and what happens if one stops."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fenster.cli import app, main
from fenster.config import check
from fenster.configs import find_config
from fenster.data.prepare.config import PrepareConfig
from fenster.errors import ConfigError, FensterError, InputError
from fenster.evaluate.result import Result
from fenster.reproduce.plan import Cost, ReproducePlan, built_in_plan
from fenster.reproduce.run import duration, rendered, run, write
from fenster.reproduce.step import Step
from fenster.reproduce.steps import Request, steps
from fenster.train.run_folder import RunFolder
from tests.helpers.training import TINY
from tests.helpers.waiting import DEADLINE, wait_until

PLAN = built_in_plan()
COST = PLAN.costs["cuda"]


def corpora(root: Path, task: str) -> Path:
    """Empty files where a task's test sets would be."""
    for path in PLAN.task(task).test_paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return root


@pytest.mark.parametrize("task", PLAN.tasks)
@pytest.mark.parametrize("table", PLAN.tables)
def test_every_command_of_every_table_is_accepted(table: str, task: str, tmp_path: Path) -> None:
    request = Request(table, task, "out", data_root=corpora(tmp_path, task), seeds=(1, 2))
    if missing := [name for name in PLAN.table(table).systems if not known(PLAN.task(task).train, name)]:
        request = replace(request, systems=tuple(set(PLAN.table(table).systems) - set(missing)))
    made = steps(PLAN, request, COST)
    assert made[0].kind == "prepare" and len({step.outputs for step in made}) == len(made)
    for step in made:
        assert app.parse_args(step.command, exit_on_error=False, print_error=False) is not None
        assert step.seconds > 0 and not step.done
        if step.kind == "train":
            find_config(Path(step.command[1]), "train")


def known(folder: str, system: str) -> bool:
    try:
        find_config(Path(folder) / PLAN.systems[system].config, "train")
    except ConfigError:
        return False
    return True


def test_systems_come_after_those_they_begin_with(tmp_path: Path) -> None:
    request = Request("5", "ep", "ep", ("lst-from-sentence",), (2,), data_root=corpora(tmp_path, "ep"))
    trained = [step for step in steps(PLAN, request, COST) if step.kind == "train"]
    assert [step.outputs[0] for step in trained] == [
        Path("runs/ep/sentence/seed-2"),
        Path("runs/ep/lst-from-sentence/seed-2"),
    ]
    assert "warm_start=runs/ep/sentence/seed-2/model" in trained[1].command
    assert "seed=2" in trained[1].command and "batch.seed=2" in trained[1].command


def test_what_each_table_measures(tmp_path: Path) -> None:
    root = corpora(tmp_path, "ep")

    def measured(table: str, *systems: str) -> list[str]:
        made = steps(PLAN, Request(table, "ep", "ep", systems, data_root=root), COST)
        return [path.relative_to("results/ep").as_posix() for step in made for path in step.outputs if step.model]

    assert measured("3", "window") == ["window/seed-1/europarl.json", "window/seed-1/europarl.full-segment.json"]
    assert measured("5", "sentence") == [f"sentence/seed-1/{test}.json" for test in PLAN.task("ep").tests]
    assert measured("1", "sentence")[-1] == "sentence/seed-1/attention.json"
    assert measured("4", "window")[-2:] == [f"window/seed-1/europarl.{a}.json" for a in ("one-to-one", "train-ratio")]
    assert "window/seed-1/contrapro.json" in measured("6", "window")


def test_mistakes_are_told_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="no such test set"):
        steps(PLAN, Request("5", "ep", "ep", data_root=tmp_path), COST)
    for request in (Request("7", "ep", "ep"), Request("5", "epp", "ep"), Request("5", "ep", "ep", ("windows",))):
        with pytest.raises(ConfigError, match="is called"):
            steps(PLAN, request, COST)
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "5", "--data-root", str(tmp_path)])
    assert ended.value.code == 2 and "no such test set" in capsys.readouterr().err


def test_a_dry_run_only_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = corpora(tmp_path / "raw", "ep")
    monkeypatch.chdir(tmp_path)
    main(["reproduce", "Table 5", "--data-root", str(root), "--dry-run", "--set", "stop.updates=100"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[2:5] == ["fenster", "prepare", "europarl"] and "in all, roughly" in lines[-1]
    assert all("fenster" in shlex.split(line) for line in lines[:-1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw"]
    main(["reproduce"])
    assert "BLEU and TER of all systems" in capsys.readouterr().out


def test_durations_are_for_people() -> None:
    assert [duration(seconds) for seconds in (0.2, 40, 300, 9000)] == ["1 s", "40 s", "5 min", "2.5 h"]


@pytest.fixture
def toy_plan(toy_config: PrepareConfig, tmp_path: Path) -> ReproducePlan:
    """Two systems that train in seconds on generated documents."""
    train = str(toy_config.splits["train"][0].paths[0])
    valid = toy_config.splits["valid"][0].paths[0]
    (tmp_path / "toy.yaml").write_text(
        yaml.safe_dump(
            {
                "output": str(tmp_path / "data"),
                "splits": {"train": train, "valid": str(valid)},
                "tokenizer": {"vocab_size": 500},
                "workers": 1,
            }
        )
    )
    for name, context in (("sentence", {"kind": "sentence"}), ("window", {"kind": "document"})):
        model = dict(TINY, attention={"kind": "full"}) if name == "sentence" else TINY
        settings: dict[str, Any] = {
            "data": str(tmp_path / "data"),
            "output": "",
            "context": context,
            "model": model,
            "batch": {"tokens": 600},
        }
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(settings))
    shipped = PLAN.model_dump()
    shipped["budgets"]["full"] = {"stop.updates": 4, "valid.every": 4, "optimizer.warmup": 2}
    shipped["systems"] = {
        "sentence": {"config": "sentence.yaml", "searches": ["sentence"]},
        "window": {"config": "window.yaml", "searches": ["sequential"]},
    }
    task: dict[str, Any] = {
        "about": "toy",
        "prepare": str(tmp_path / "toy.yaml"),
        "train": str(tmp_path),
        "rules": "none",
    }
    task |= {"systems": ["sentence", "window"], "tests": {"toy": {"paths": [valid], "segments": 300}}}
    shipped["tasks"] = {"toy": task}
    return check(shipped, ReproducePlan)


@pytest.mark.slow
def test_a_table_is_made_and_made_only_once(toy_plan: ReproducePlan, tmp_path: Path) -> None:
    request = Request("5", "toy", "toy", beam=1, device="cpu", runs=tmp_path / "runs", results=tmp_path / "results")
    made = steps(toy_plan, request, COST)
    told: list[str] = []
    run(made, told.append)
    assert [step.kind for step in made] == ["prepare", "train", "evaluate", "train", "evaluate"]
    assert all(step.done for step in made[1:])
    (table,) = rendered(made, toy_plan.table("5").titles)
    assert table.title == "Table 5: BLEU / TER" and [row[0] for row in table.rows] == ["sentence", "window"]
    write([table], tmp_path / "table-5.md")
    assert "| window | " in (tmp_path / "table-5.md").read_text()

    again: list[str] = []
    run(steps(toy_plan, replace(request, device="auto"), COST), again.append)
    assert sum("done already" in line for line in again) == 4

    # Another beam or budget: what was made for the first request does not count.
    other = steps(toy_plan, replace(request, beam=2), COST)
    assert [step.done for step in other[1:]] == [True, False, True, False]
    run(other, again.append)
    beams = {Result.read(step.outputs[0]).system.beam for step in other if step.kind == "evaluate"}
    assert beams == {2} and all(step.done for step in other[1:])
    longer = steps(toy_plan, replace(request, settings=("stop.updates=6",)), COST)
    assert not any(step.done for step in longer)
    run(longer[:2], again.append)
    assert RunFolder(longer[1].outputs[0]).entries("stop")[-1]["update"] == 6
    model = other[3].outputs[0] / "model" / "model.json"
    result = other[4].outputs[0]
    os.utime(model, (result.stat().st_mtime + 5,) * 2)  # as if the system had been trained again
    assert not other[4].done


def test_a_step_that_fails_ends_the_job(tmp_path: Path) -> None:
    broken = Step("evaluate", ("evaluate", "--hyp", str(tmp_path / "no"), "--test", "no"), (tmp_path / "x",), 1.0)
    after = replace(broken, command=("configs",))
    told: list[str] = []
    with pytest.raises(FensterError, match=r"step 1 of 2 failed: fenster evaluate \(exit code 2\)"):
        run([broken, after], told.append)
    assert len(told) == 1


CHILD = """
import signal, sys, time
from pathlib import Path

def stop(number, _):
    time.sleep(1)  # a checkpoint takes its time
    Path(sys.argv[1]).write_text("kept")
    sys.exit(130)

signal.signal(signal.SIGINT, stop)
signal.signal(signal.SIGTERM, stop)
Path(sys.argv[1] + ".ready").touch()
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_present_step_end_properly(number: signal.Signals, tmp_path: Path) -> None:
    kept, ready = tmp_path / "kept", tmp_path / "kept.ready"
    code = "import sys; from fenster.reproduce.run import _call; sys.exit(_call(sys.argv[1:]))"
    command = [sys.executable, "-c", code, sys.executable, "-c", CHILD, str(kept)]
    process = subprocess.Popen(command, start_new_session=True)
    wait_until(ready.exists)
    os.killpg(process.pid, number)  # as a terminal does, to the whole group
    assert process.wait(DEADLINE) == 130 and kept.read_text() == "kept"


def test_systems_that_a_task_does_not_have_and_odd_numbers(tmp_path: Path) -> None:
    root = corpora(tmp_path, "dlg")
    with pytest.raises(ConfigError, match="no such config"):
        steps(PLAN, Request("4", "dlg", "dlg", data_root=root), COST)
    with pytest.raises(ConfigError, match="nonsense"):
        steps(PLAN, Request("5", "dlg", "dlg", data_root=root, settings=("nonsense=1",)), COST)
    for odd in (
        Request("5", "dlg", "dlg", beam=0),
        Request("5", "dlg", "dlg", seeds=(-1,)),
        Request("5", "dlg", "../x"),
    ):
        with pytest.raises(ConfigError, match="--beam"):
            steps(PLAN, odd, COST)


def test_costs_scale_with_updates(tmp_path: Path) -> None:
    root = corpora(tmp_path, "ep")
    cost = Cost(train=1000, translate=1, score=1, prepare=1)

    def seconds(*settings: str) -> float:
        request = Request("5", "ep", "ep", ("sentence",), settings=settings, data_root=root)
        return next(step.seconds for step in steps(PLAN, request, cost) if step.kind == "train")

    assert seconds("stop.updates=2000") == 2 * seconds("stop.updates=1000")
