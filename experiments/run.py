"""Train or evaluate one system of docs/results.md: python experiments/run.py {train,evaluate} SYSTEM [options]

    python experiments/run.py train window                      # the budget that all systems of the first round share
    python experiments/run.py train sentence --long             # until validation stops, or 15,000 updates
    python experiments/run.py evaluate window --beam 12 --batch-size 256
    python experiments/run.py train window --dry-run            # only print the commands

Systems, budgets and test sets are in systems.yaml. Raw data: FENSTER_DATA, or data/raw. A run that was stopped
resumes; translations that exist already, made by the same model, are not made again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

PLAN: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("systems.yaml").read_text(encoding="utf-8"))
DATA = Path(os.environ.get("FENSTER_DATA", "data/raw"))


def train(name: str, system: dict[str, Any], long: bool) -> list[list[str]]:
    budget = {} if name == "default" else PLAN["budget"] | (PLAN["long"] if long else {})
    keys = budget | system.get("set", {}) | {"output": run_folder(name, long)}
    settings = [part for key, value in keys.items() for part in ("--set", f"{key}={yaml_value(value)}")]
    return [["train", system["config"], *settings]]


def evaluate(name: str, system: dict[str, Any], long: bool) -> list[list[str]]:
    model = f"{run_folder(name, long)}/model"
    out = Path("results") / (("ep-15k/" if long else "ep/") + name if "/" not in name and name != "default" else name)
    searches, tests = system.get("search", ["sequential", "full-segment"]), PLAN["tests"][system.get("tests", "ep")]
    shared = ["--model", model, "--title", name, "--precision", "float32"]
    if name != "default":  # the paper's method, and nothing else
        shared += ["--no-guards", "--no-protection"]
    commands = []
    for test, path in tests.items():
        file = str(DATA / path)
        if test == "contrapro":
            commands.append(["contrapro", file, *shared, "--translate", "-o", str(out / "contrapro.json")])
        elif test == "items":
            commands.append(["items", file, *shared, "--limit", "1000", "-o", str(out / "ctxpro")])
        elif test == "attention":
            commands.append(
                ["attention", *shared[:4], "--test", file, "--name", "europarl", "-o", str(out / "attention.json")]
            )
        else:
            # All searches on the main test set, the system's own on the others.
            for search in searches if test == "europarl" and system.get("tests", "ep") == "ep" else searches[:1]:
                result = out / (
                    f"{test}.{search}.json" if test == "europarl" and "tests" not in system else f"{test}.json"
                )
                search_options = [] if name == "default" else ["--strategy", search]
                rules = ["--rules", "none"] if system.get("tests") == "en-it" else []
                which = ["--test", file, "--name", test]
                commands.append(["evaluate", *shared, *which, *search_options, *rules, "-o", str(result)])
                if name == "default":
                    kept = [str(out / f"{test}.txt"), *which, "--title", name]
                    commands.append(["distance", *kept, "-o", str(out / f"{test}.distance.json")])
    return commands


def run_folder(name: str, long: bool) -> str:
    return "runs/default" if name == "default" else f"runs/{'ep-15k' if long else 'ep'}/{name}"


def yaml_value(value: object) -> str:
    return "null" if value is None else str(value)


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in ("train", "evaluate") or sys.argv[2] not in PLAN["systems"]:
        sys.exit(f"{__doc__}\nsystems: {', '.join(PLAN['systems'])}")
    action, name, *rest = sys.argv[1:]
    long, dry = "--long" in rest, "--dry-run" in rest
    options = [option for option in rest if option not in ("--long", "--dry-run")]
    for command in (train if action == "train" else evaluate)(name, PLAN["systems"][name], long):
        more = options if command[0] in ("train", "evaluate", "contrapro", "items") else []
        print("fenster", *command, *more, flush=True)
        if not dry:
            subprocess.run([sys.executable, "-m", "fenster", *command, *more], check=True)


if __name__ == "__main__":
    main()
