"""What starting costs: CPU seconds and peak memory of `fenster translate` for one short sentence, of `--help` and
`--version`, of a mistake in an option, and of `import torch` alone.

    python experiments/startup.py -o results/bench/start-cpu.json
    git worktree add ../before f6ec055 && python experiments/startup.py --before ../before/src

With `--before`, the `src` folder of an earlier version, both are measured in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from script import parser, write

_SOURCE = Path(__file__).parent.parent / "src"
_SENTENCE = "Here is the lamp.\n"


def cost(command: list[str], source: Path) -> tuple[float, float]:
    """(CPU seconds of all threads, MiB at the peak) of a process of its own."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, *command], env=environment, capture_output=True, text=True, check=True
    )
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--before", type=Path, help="the src folder of another version")
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    sources = {"now": _SOURCE} | ({"before": given.before.resolve()} if given.before else {})
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text(_SENTENCE, encoding="utf-8")
        fenster = [sys.executable, "-m", "fenster"]
        commands = {
            "import torch": [sys.executable, "-c", "import torch"],
            "--version": [*fenster, "--version"],
            "--help": [*fenster, "--help"],
            "translate --beam nonsense": [*fenster, "translate", "--beam", "nonsense"],
            "translate one sentence": [*fenster, "translate", str(text), "-m", str(given.model), "--beam", "4"],
        }
        measured: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in commands}
        for _ in range(given.rounds):
            for name, command in commands.items():
                for version, source in sources.items():
                    measured[name].setdefault(version, []).append(cost(command, source))
    figures = {
        name: {
            version: {
                "cpu_seconds": round(statistics.median(seconds for seconds, _ in costs), 3),
                "peak_mib": round(statistics.median(memory for _, memory in costs), 1),
            }
            for version, costs in versions.items()
        }
        for name, versions in measured.items()
    }
    for name, versions in figures.items():
        print(name, versions)
    write(figures, given.output)


if __name__ == "__main__":
    main()
