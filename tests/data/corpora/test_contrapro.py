import json
from pathlib import Path
from typing import Any

import pytest

from fenster.data.corpora import FORMATS, read_corpus
from fenster.data.corpora.contrapro import Documents, read_items
from fenster.errors import InputError
from fenster.io.files import TextFiles
from tests.helpers.data import pair


def item(**more: Any) -> dict[str, Any]:
    return {
        "src segment": "It is red.",
        "ref segment": "Er ist rot.",
        "src pronoun": "it",
        "ref pronoun": "er",
        "errors": [
            {"contrastive": "Sie ist rot.", "replacement": "sie", "replacement gender": "Fem"},
            {"contrastive": "Es ist rot.", "replacement": "es", "replacement gender": "Neut"},
        ],
        "ante distance": 1,
        "intrasegmental": None,
        **more,
    }


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A film of five lines, item at line 3, written through the folder writer."""
    lines = [(f"en {n}", f"de {n}") for n in range(1, 6)]
    lines[2] = ("It is red.", "Er ist rot.")
    write = FORMATS["folder"].write
    assert write is not None
    write([pair("1921_12806_3712161", *lines)], [tmp_path / "documents"])
    return tmp_path / "documents"


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_context_from_documents_left_and_right(tmp_path: Path, documents: Path, indent: int | None) -> None:
    path = tmp_path / "c.json"
    record = item(**{"document id": "1921_12806_3712161.de", "segment id": 3})
    path.write_text(json.dumps([record, record], indent=indent))
    first, second = read_items(path, TextFiles(), documents=Documents(documents), left=4, right=1)
    assert first.document.source.texts == ["en 1", "en 2", "It is red.", "en 4"]
    assert first.document.target.texts == ["de 1", "de 2", "Er ist rot.", "de 4"]
    assert first.index == 2
    assert first.variant(1) == ["de 1", "de 2", "Es ist rot.", "de 4"]
    assert second.document.same_text(first.document)


def test_context_inside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    context = {"src context": ["far", "near"], "ref context": ["fern", "nah"]}
    path.write_text(json.dumps([item(**context), item()]))
    one, bare = read_items(path, TextFiles(), left=1)
    assert one.document.source.texts == ["near", "It is red."]
    assert one.document.target.texts == ["nah", "Er ist rot."]
    assert (one.index, bare.index) == (1, 0)
    assert [d.source.texts for d in read_corpus([path])] == [["far", "near", "It is red."], ["It is red."]]


def test_right_context_needs_documents(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps([item()]))
    with pytest.raises(InputError, match="right context"):
        list(read_items(path, TextFiles(), right=1))


def test_segment_outside_its_document(tmp_path: Path, documents: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps([item(**{"document id": "1921_12806_3712161.de", "segment id": 9})]))
    with pytest.raises(InputError, match="has 5 segments, but an item is segment 9"):
        list(read_items(path, TextFiles(), documents=Documents(documents)))


@pytest.mark.parametrize("body", ["{}", "[{}", '[{"src segment": ""}]', "[1]", ""])
def test_other_json_is_refused(tmp_path: Path, body: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(body)
    with pytest.raises(InputError, match=r"c\.json"):
        list(read_items(path, TextFiles()))


def test_the_real_set(shared_data: Path) -> None:
    items = list(read_items(shared_data / "contrapro" / "contrapro.en-de.json.xz", TextFiles(), left=1))
    assert len(items) == 12_000
    assert sum(1 + len(item.contrastive) for item in items) == 36_031
    assert sum(item.index for item in items) > 11_000
