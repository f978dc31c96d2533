"""The bundled model translates as it did when it was recorded, segment by segment and byte by byte.

`identical.json` holds translations of a text of ours, and hashes of the translations of the first segments of six
real test sets, in 8 bits and in float32; recorded before the restructuring of 0.2.0. A new model is a new recording:
`python -m tests.test_identical`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import fenster
from fenster.data.corpora import read_corpus

RECORD = Path(__file__).with_name("identical.json")
SAMPLE = Path(__file__).resolve().parents[1] / "examples" / "sample.txt"
SETS = {
    "chat": "chat/en-de.test.tsv.xz",
    "europarl": "europarl/en-de.test.tsv.xz",
    "manuals": "manuals/en-de.test.tsv.xz",
    "news": "news/newstest2015.en-de.tsv.xz",
    "suttas": "suttas/en-de.test.tsv.xz",
    "ted": "ted/en-de.dev.tsv.xz",
}
SEGMENTS = 4  # of each set


def sample() -> list[str]:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    return [sentence for line in lines for sentence in fenster.sentences(line)][:8]


def digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def translated(texts: list[str], int8: bool) -> list[str]:
    return fenster.load(beam=4, batch_size=1, int8=int8).translate(texts).texts


def real(folder: Path, name: str) -> list[str]:
    return next(iter(read_corpus([folder / SETS[name]]))).source.texts[:SEGMENTS]


@pytest.mark.slow
@pytest.mark.parametrize("int8", [True, False], ids=["int8", "float32"])
def test_a_text_of_ours(int8: bool) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    assert translated(sample(), int8) == recorded["sample"]["int8" if int8 else "float32"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("int8", [True, False], ids=["int8", "float32"])
def test_real_test_sets(name: str, int8: bool, shared_data: Path) -> None:
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["sets"][name]["int8" if int8 else "float32"]
    assert digest(translated(real(shared_data, name), int8)) == recorded


def main() -> None:
    from tests.conftest import SHARED

    kinds = {"int8": True, "float32": False}
    record = {
        "sample": {kind: translated(sample(), int8) for kind, int8 in kinds.items()},
        "sets": {
            name: {kind: digest(translated(real(SHARED, name), int8)) for kind, int8 in kinds.items()}
            for name in SETS
        },
    }
    RECORD.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
