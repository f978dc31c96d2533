"""Reading what is evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest

from fenster.data.corpora import read_corpus
from fenster.data.corpora.jsonl import write_jsonl
from fenster.document import Document, ParallelDocument
from fenster.errors import InputError
from fenster.evaluate.test_set import TranslatedTestSet, read_hypotheses, read_lines


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def pair(name: str, *targets: str) -> ParallelDocument:
    return ParallelDocument(Document.of(name, targets), Document.of(name, targets))


DOCUMENTS = (pair("1", "a", "b"), pair("2", "c"))


def test_one_line_a_segment(tmp_path: Path) -> None:
    assert read_hypotheses(write(tmp_path / "h", "x", "", "z"), DOCUMENTS) == (("x", ""), ("z",))


def test_blank_lines_between_documents(tmp_path: Path) -> None:
    assert read_hypotheses(write(tmp_path / "h", "x", "", "", "z"), DOCUMENTS) == (("x", ""), ("z",))


def test_what_translate_wrote_as_jsonl(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", *(f'{{"target": "{text}", "score": -1}}' for text in "xyz"))
    assert read_hypotheses(path, DOCUMENTS) == (("x", "y"), ("z",))
    with pytest.raises(InputError, match=r"h.jsonl:2: not a translated segment"):
        read_hypotheses(write(tmp_path / "h.jsonl", '{"target": "x"}', '{"text": "x"}'), DOCUMENTS)


@pytest.mark.parametrize("lines", [["x", "y"], ["x", "y", "z", "u"], ["x", "", "y", "z"]])
def test_other_counts_name_both(tmp_path: Path, lines: list[str]) -> None:
    with pytest.raises(InputError, match=rf"has {len(lines)} lines, but the test set has 3 segments in 2 documents"):
        read_hypotheses(write(tmp_path / "h", *lines), DOCUMENTS)


def test_a_test_set_with_a_document_per_line(tmp_path: Path) -> None:
    """House JSONL: as many hypotheses as documents are not enough."""
    test = tmp_path / "test.jsonl"
    write_jsonl(DOCUMENTS, [test])
    documents = list(read_corpus([test]))
    with pytest.raises(InputError, match=r"has 2 lines, but .* has 3 segments in 2 documents"):
        read_hypotheses(write(tmp_path / "h", "x", "y"), documents)


def test_line_aligned_files(tmp_path: Path) -> None:
    source, first, second = (
        write(tmp_path / name, *lines)
        for name, lines in (
            ("s", ["a", "b", "", "", "c"]),
            ("r", ["A", "", "", "", "C"]),
            ("r2", ["A2", "B2", "", "", "C2"]),
        )
    )
    found = read_lines(source, [first, second])
    assert [document.source.texts for document in found] == [["a", "b"], ["c"]]
    assert [document.target.texts for document in found] == [["A", ""], ["C"]]
    assert found[0].references[0].texts == ["A2", "B2"]
    texts = TranslatedTestSet(found, (("x", "y"), ("z",)))
    assert texts.references == [["A", "", "C"], ["A2", "B2", "C2"]] and texts.document_index.tolist() == [0, 0, 1]


def test_hypotheses_laid_out_as_the_test_set(tmp_path: Path) -> None:
    """Two blank lines between documents, one at the end: whatever the test set's files have."""
    reference = write(tmp_path / "r", "A", "B", "", "", "C", "")
    found = read_lines(write(tmp_path / "s", "a", "b", "", "", "c", ""), [reference])
    assert read_hypotheses(reference, found) == (("A", "B"), ("C",))
    assert read_hypotheses(write(tmp_path / "h", "x", "", "", "", "z", ""), found) == (("x", ""), ("z",))
    with pytest.raises(InputError, match="has 6 lines"):
        read_hypotheses(write(tmp_path / "h", "x", "y", "?", "", "z", ""), found)


def test_breaks_that_the_test_set_s_file_does_not_have(tmp_path: Path) -> None:
    """A table has no blank lines between documents: a blank line in the translations is one, and no empty segment."""
    path = write(tmp_path / "t.tsv", "d1\ta\tA", "d1\tb\tB", "d2\tc\tC", "d2\t\t")
    found = tuple(read_corpus([path]))
    assert read_hypotheses(write(tmp_path / "h", "x", "y", "", "z", ""), found) == (("x", "y"), ("z", ""))


def test_names_of_documents(tmp_path: Path) -> None:
    source = write(tmp_path / "s", "a", "", "c")
    found = read_lines(source, [write(tmp_path / "r", "A", "", "C")], write(tmp_path / "n", "one", "one", "two"))
    assert [(document.id, len(document)) for document in found] == [("one", 2), ("two", 1)]


def test_without_a_source(tmp_path: Path) -> None:
    (document,) = read_lines(None, [write(tmp_path / "r", "A", "B")])
    assert document.target.texts == ["A", "B"] and document.source.texts == ["", ""]


def test_files_that_differ_or_are_empty(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line counts differ: .*s has 2, .*r has 1"):
        read_lines(write(tmp_path / "s", "a", "b"), [write(tmp_path / "r", "A")])
    with pytest.raises(InputError, match="no text"):
        read_lines(None, [write(tmp_path / "r")])
