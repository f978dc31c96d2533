"""This version and an earlier one on a CPU, taking turns: seconds per sentence of a document.

    git worktree add ../before COMMIT && (cd ../before && pip install --no-deps --target build/lib .)
    python experiments/versions.py --before ../before/build/lib -o results/bench/versions-cpu.json

The first 25 segments of a talk of the TED development set, with the bundled model, after one translation that does
not count: wall-clock and CPU seconds, the best of four of each process, the median of the processes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from script import DATA, parser, write

_SEGMENTS = 25
_MEASURE = """
import json, sys, time
import fenster
texts, beam, threads = json.load(sys.stdin)
translator = fenster.load(beam=beam, threads=threads)
translator.translate(texts)
best = [1e9, 1e9]
for _ in range(4):
    wall, cpu = time.perf_counter(), time.process_time()
    translator.translate(texts)
    best = list(map(min, best, (time.perf_counter() - wall, time.process_time() - cpu)))
print(json.dumps([seconds / len(texts) for seconds in best]))
"""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--before", type=Path, required=True, help="a folder with another version, compiled")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    from fenster.data.corpora import read_corpus

    talk = next(iter(read_corpus([DATA / "ted" / "en-de.dev.tsv.xz"])))
    texts = talk.source.texts[:_SEGMENTS]
    versions = {"before": given.before.resolve(), "now": Path(__file__).resolve().parent.parent / "src"}
    rows: list[dict[str, Any]] = []
    for threads in given.threads:
        seconds: dict[str, list[list[float]]] = {version: [] for version in versions}
        for _ in range(given.rounds):
            for version, folder in versions.items():
                done = subprocess.run(
                    [sys.executable, "-c", _MEASURE],
                    env={**os.environ, "PYTHONPATH": str(folder)},
                    input=json.dumps([texts, given.beam, threads]),
                    capture_output=True,
                    text=True,
                    check=True,
                )
                seconds[version].append(json.loads(done.stdout))
        for version, runs in seconds.items():
            wall, cpu = map(statistics.median, zip(*runs, strict=True))
            rows.append({"version": version, "threads": threads, "wall": wall, "cpu": cpu})
            print(rows[-1], flush=True)
    about = {"segments": len(texts), "beam": given.beam, "rounds": given.rounds}
    write({**about, "rows": rows}, given.output)


if __name__ == "__main__":
    main()
