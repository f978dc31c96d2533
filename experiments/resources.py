"""What `fenster translate` needs besides time: its wall-clock time while every core is busy with another program, and
its memory over a long document.

    python experiments/resources.py -o results/bench/resources-cpu.json
    python experiments/resources.py --rounds 0 --document FILE -o results/bench/memory-real-cpu.json

The bundled text with one endless loop per core against none, in turns, median of the rounds; then one document of
`--sentences` sentences, whose memory is read every second: those of the bundled text again and again, or the lines of
`--document`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from script import parser, write

import fenster

SAMPLE = Path(__file__).resolve().parent.parent / "examples" / "sample.txt"


def command(text: Path, model: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "fenster", "translate", str(text), "-m", str(model), "--beam", "4", *more]


def seconds(text: Path, model: Path, busy: int) -> float:
    """Wall-clock time with so many programs that never rest."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        began = time.perf_counter()
        subprocess.run(command(text, model), stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began
    finally:
        for other in others:
            other.kill()
            other.wait()


def memory(text: Path, model: Path) -> list[float]:
    """MiB that are resident, second by second."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "out.txt")
        process = subprocess.Popen(command(text, model, "-o", str(output)), stderr=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                made.append(psutil.Process(process.pid).memory_info().rss / (1 << 20))
            except psutil.NoSuchProcess:
                break
            time.sleep(1)
        if process.wait():
            raise SystemExit(f"it failed with {process.returncode}")
    return [size for size in made if size]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=5, help="0: memory alone")
    options.add_argument("--sentences", type=int, default=10_000)
    options.add_argument("--document", type=Path, help="a sentence per line, instead of the bundled text")
    given = options.parse_args()
    figures: dict[str, object] = {}
    if given.rounds:
        figures["load"] = load(given.model, given.rounds)
        print(figures["load"], flush=True)
    if given.document is None:
        text = SAMPLE.read_text(encoding="utf-8").splitlines()
        known = [one for line in text for one in fenster.sentences(line)]
    else:
        known = given.document.read_text(encoding="utf-8").splitlines()
    figures["memory"] = long(given.model, [known[n % len(known)] for n in range(given.sentences)])
    print(figures["memory"])
    write(figures, given.output)


def load(model: Path, rounds: int) -> dict[str, float]:
    cores = len(os.sched_getaffinity(0))
    quiet, busy = [], []
    for _ in range(rounds):
        quiet.append(seconds(SAMPLE, model, 0))
        busy.append(seconds(SAMPLE, model, cores))
    return {"cores": cores, "quiet": statistics.median(quiet), "busy": statistics.median(busy)}


def long(model: Path, lines: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "long.txt")
        text.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
        sizes = memory(text, model)
    return {
        "sentences": len(lines),
        "words": sum(len(line.split()) for line in lines),
        "model": sum(path.stat().st_size for path in model.iterdir()) / (1 << 20),
        "after a tenth": sizes[len(sizes) // 10],
        "at the end": sizes[-1],
        "peak": max(sizes),
    }


if __name__ == "__main__":
    main()
