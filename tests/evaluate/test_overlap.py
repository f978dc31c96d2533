"""Test sets that are in the training data."""

from __future__ import annotations

from pathlib import Path

import pytest

from fenster.cli import main
from fenster.document import Document, ParallelDocument
from fenster.evaluate.overlap import overlap
from fenster.evaluate.result import Result

LONG = "one two three four five six seven eight"


def corpus(*pairs: tuple[str, str]) -> list[ParallelDocument]:
    return [
        ParallelDocument(Document.of("a", [one for one, _ in pairs]), Document.of("a", [two for _, two in pairs]))
    ]


def test_overlap() -> None:
    test = corpus(("a", "b"), ("a", "c"), (LONG, "x"), (LONG, "y"), ("", ""))
    seen = overlap(test, corpus(("a", "b"), ("a  ", "b"), (LONG, "y"), ("z", "z")))
    assert (seen.pairs, seen.seen, seen.long_pairs, seen.long_seen) == (4, 2, 2, 1)
    assert "2 of 4 (50.0 %)" in str(seen) and "1 of 2" in str(seen)
    assert "0 of 0" in str(overlap([], []))


def test_the_evaluation_prints_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test.tsv").write_text("a\tone\teins\na\ttwo\tzwei\n")
    (tmp_path / "train.tsv").write_text("b\ttwo\tzwei\n")
    (tmp_path / "hyp.txt").write_text("eins\nzwei\n")
    command = ["evaluate", str(tmp_path / "hyp.txt"), "--test", str(tmp_path / "test.tsv"), "--samples", "10"]
    main([*command, "--training", str(tmp_path / "train.tsv"), "-o", str(tmp_path / "r.json")])
    assert "1 of 2 (50.0 %)" in capsys.readouterr().out
    assert Result.read(tmp_path / "r.json").extra["overlap"]["seen"] == 1
