"""`fenster reproduce`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from fenster.cli.options import Device, Flag, Overrides
from fenster.data.prepare.config import DATA_ROOT
from fenster.io.machine import find_device
from fenster.io.progress import report as say
from fenster.io.progress import wide_console
from fenster.reproduce.plan import ReproducePlan, built_in_plan
from fenster.reproduce.step import Step
from fenster.reproduce.steps import Request, steps

Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")]
Seeds = Annotated[list[int] | None, Parameter(consume_multiple=True, negative="")]


def reproduce(
    table: str | None = None,
    /,
    *,
    task: str = "ep",
    systems: Names = None,
    seeds: Seeds = None,
    budget: Literal["full", "long", "short"] = "full",
    into: str | None = None,
    beam: int = 12,
    batch_size: int = 64,
    data_root: Path | None = None,
    set_: Overrides = None,
    device: Device = "auto",
    dry_run: Flag = False,
) -> None:
    """Prepare data, train systems, evaluate them and render one table of the paper.

    The same command resumes: finished runs and existing results are reused. Without a table, lists tables and tasks.

    Examples:

    ```
    fenster reproduce
    fenster reproduce 5 --data-root ~/corpora --dry-run
    fenster reproduce 5 --systems sentence window-sent-align --seeds 1 2 3
    fenster reproduce 6 --task dlg --budget short
    ```

    Parameters
    ----------
    table
        Its number: 1, 3, 4, 5, 6 or 8.
    task
        Which data: ep (Europarl), ep-en-it (the same in Italian), dlg (dialogue), or the paper's own news, ted and
        os, if you have them.
    systems
        Systems to use instead of those of the table and the task.
    seeds
        Train each system once with each of these seeds; 1 by default. Several give means, and tests over seeds.
    budget
        full: until validation stops or 15,000 updates; long: or 40,000 updates; short: 6,000 updates.
    into
        Name of the folder below `runs` and `results`; the task's by default.
    batch_size
        Searches at once.
    data_root
        The folder of raw corpora; by default the environment variable FENSTER_DATA, or data/raw.
    set_
        Override a key in every training run: `--set batch.tokens=8000`; may be given several times.
    dry_run
        Only print the commands, with an estimate of how long each takes.
    """
    plan = built_in_plan()
    if table is None:
        _list(plan)
        return
    root = (data_root or Path(os.environ.get(DATA_ROOT, "data/raw"))).expanduser()
    request = Request(
        table,
        task,
        into or task,
        tuple(systems or ()),
        tuple(dict.fromkeys(seeds or (1,))),
        budget,
        beam,
        batch_size,
        device,
        tuple(set_ or ()),
        root,
    )
    made = steps(plan, request, plan.costs[find_device(device)])
    if dry_run:
        _print(made)
        return
    from fenster.evaluate.report.table import console_table
    from fenster.reproduce.run import rendered, run, write

    run(made, say)
    chosen = plan.table(table)
    shown = list(rendered(made, chosen.titles))
    for one in shown:
        wide_console().print(console_table(one))
    output = request.results / request.into / f"table-{chosen.titles[0].split()[-1]}.md"
    write(shown, output)
    print(f"-> {output}")


def _print(made: list[Step]) -> None:
    from fenster.reproduce.run import duration

    for step in made:
        state = "done" if step.done else duration(step.seconds)
        print(f"{state:>8}  fenster {shlex.join(step.command)}")
    left = sum(step.seconds for step in made if not step.done)
    print(f"{duration(left):>8}  in all, roughly")


def _list(plan: ReproducePlan) -> None:
    for title, entries in (
        ("table", {name: table.about for name, table in plan.tables.items()}),
        ("task", {name: task.about for name, task in plan.tasks.items()}),
    ):
        shown = Table(title, "what it is", box=None)
        for name, about in entries.items():
            shown.add_row(name, about)
        wide_console().print(shown)
        print()
    print(f"systems: {', '.join(plan.systems)}")
