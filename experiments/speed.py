"""Two models side by side on a CPU: python experiments/speed.py --before OLD/model [--model NEW/model] [-o FILE]

The first documents of the Europarl, chat and TED development sets, about 100 segments each, translated by both models
in turn, three times; seconds of CPU time per segment, and their ratio.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator

SEGMENTS = 100


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--before", type=Path, required=True)
    options = options_parser.parse_args()
    config = DecodeConfig(beam=options.beam, threads=1)
    systems = {"before": Translator.load(options.before, config), "after": Translator.load(options.model, config)}
    result: dict[str, Any] = {"beam": options.beam, "threads": 1, "seconds per segment": {}}
    for name in ("europarl", "chat", "ted"):
        texts: list[str] = []
        documents = []
        for pair in read_corpus([DATA / name / "en-de.dev.tsv.xz"]):
            documents.append(pair.source.texts[: SEGMENTS - len(texts)])
            texts += documents[-1]
            if len(texts) >= SEGMENTS:
                break
        seconds: dict[str, list[float]] = {system: [] for system in systems}
        for _ in range(3):
            for system, translator in systems.items():
                began = time.process_time()
                list(translator.translate_all(documents))
                seconds[system].append((time.process_time() - began) / len(texts))
        result["seconds per segment"][name] = seconds
        middle = {system: median(times) for system, times in seconds.items()}
        print(
            f"{name:9} {middle['before']:.3f} s -> {middle['after']:.3f} s per segment, "
            f"x {middle['after'] / middle['before']:.2f}",
            flush=True,
        )
    write(result, options.output)


if __name__ == "__main__":
    main()
