"""What adaptation gains, and what it forgets: python experiments/adapt.py [--pairs N] [-o FILE]

The bundled model is adapted to the first pairs of the dialogue corpus, whose domain it has not seen (the corpus is
for experiments only): alone, with the old weights as an anchor, and with general text beside it. All three models
translate held-out dialogues (the development set) and held-out general text.
"""

from __future__ import annotations

import lzma
import tempfile
import time
from pathlib import Path

from script import DATA, parser, write

from fenster.adapt import adapt
from fenster.adapt.comparison import compare
from fenster.adapt.corpus import read_replayed
from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig

GENERAL = ("europarl/en-de.train-300k", "manuals/en-de.train", "novels/en-de.train")


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--pairs", type=int, default=2600)
    options = options_parser.parse_args()
    general = [DATA / f"{name}.tsv.xz" for name in GENERAL]
    dialogues = tuple(read_corpus([DATA / "dialogue" / "en-de.dev.tsv.xz"]))[::3]
    config = DecodeConfig(beam=options.beam)
    result: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        memory = Path(folder) / "memory.tsv"
        with lzma.open(DATA / "dialogue" / "en-de.train.tsv.xz", "rt", encoding="utf-8") as stream:
            lines = [line for line, _ in zip(stream, range(options.pairs), strict=False)]
        memory.write_text("".join(lines), encoding="utf-8")
        replayed = read_replayed(general, options.pairs).held_out
        for name, text in (("anchored", []), ("replayed", general)):
            output = Path(folder) / name
            began = time.monotonic()
            done = adapt([memory], output, options.model, general=text, decoding=config)
            seconds = time.monotonic() - began
            tests = {"dialogue": dialogues, "general": replayed}
            scores = [
                compare(test, documents, options.model, output, config, "auto") for test, documents in tests.items()
            ]
            result[name] = {
                "seconds": round(seconds),
                "reported": [one.model_dump() for one in done.comparisons],
                "compared": [one.model_dump() for one in scores],
            }
            print(name, f"{seconds:.0f} s", *(" ".join(one.cells) for one in scores), sep="; ", flush=True)
    write(result, options.output)


if __name__ == "__main__":
    main()
