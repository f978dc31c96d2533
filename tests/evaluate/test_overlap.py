"""Test sets that are in the training data."""

from __future__ import annotations

from pathlib import Path

import pytest

from fenster.cli import main
from fenster.document import Document, ParallelDocument
from fenster.evaluate.overlap import overlap, seen_segments
from fenster.evaluate.result import Result

LONG = "one two three four five six seven eight"


def corpus(*pairs: tuple[str, str]) -> list[ParallelDocument]:
    return [
        ParallelDocument(Document.of("a", [one for one, _ in pairs]), Document.of("a", [two for _, two in pairs]))
    ]


def test_overlap() -> None:
    test = corpus(("a", "b"), ("a", "c"), (LONG, "x"), (LONG, "y"), ("", ""))
    marked = seen_segments(test, corpus(("a", "b"), ("a  ", "b"), (LONG, "y"), ("z", "z"), ("", "")))
    assert marked.tolist() == [True, False, False, True, False]
    seen = overlap(test, marked)
    assert (seen.pairs, seen.seen, seen.long_pairs, seen.long_seen) == (4, 2, 2, 1)
    assert "2 of 4 (50.0 %)" in str(seen) and "1 of 2" in str(seen)
    assert "0 of 0" in str(overlap([], seen_segments([], [])))


def test_the_evaluation_prints_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test.tsv").write_text("a\tone\teins zwei drei vier fünf\na\ttwo\tzwei\n\nb\tthree\tdrei\n")
    (tmp_path / "train.tsv").write_text("b\ttwo\tzwei\nb\tthree\tdrei\n")
    (tmp_path / "hyp.txt").write_text("eins zwei drei vier sechs\nzwei\n\ndrei\n")
    command = ["evaluate", str(tmp_path / "hyp.txt"), "--test", str(tmp_path / "test.tsv"), "--samples", "10"]
    main([*command, "--training", str(tmp_path / "train.tsv"), "-o", str(tmp_path / "r.json")])
    told = capsys.readouterr().out
    assert "2 of 3 (66.7 %)" in told and "not in training" in told
    result = Result.read(tmp_path / "r.json")
    assert result.extra["overlap"]["seen"] == 2
    (ter, document_bleu) = (result.score("TER"), result.score("d-BLEU"))
    assert ter is not None and document_bleu is not None
    assert ter.score == pytest.approx(100 / 7) and ter.unseen == pytest.approx(100 / 5)
    assert document_bleu.unseen is None
