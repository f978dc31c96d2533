"""Glossaries: read, matched, and forced into translations of random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fenster.data.dataset import PreparedData
from fenster.data.tokenizer import Tokenizer
from fenster.decode.config import DecodeConfig
from fenster.decode.glossary import read_glossary
from fenster.decode.search import LengthConstraints, SearchRequest
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.decode.strategies import STRATEGIES
from fenster.errors import InputError
from fenster.language import load_language
from fenster.language.inflection import inflected
from tests.decode.test_protected import ADDRESS, loaded, symbols, translator

EN, DE = load_language("en"), load_language("de")
__all__ = ["symbols"]  # a fixture


def written(folder: Path, text: str, name: str = "terms.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_forms() -> None:
    assert {"Haus", "Häuser", "Häusern", "Hauses"} <= set(inflected("Haus", DE))
    assert "Leüchte" not in inflected("Leuchte", DE)
    assert {"Konto", "Konten", "Kontos"} <= set(inflected("Konto", DE))
    assert {"künstlicher Intelligenz", "künstlichen Intelligenz"} <= set(inflected("künstliche Intelligenz", DE))
    assert {"studies", "study"} <= set(inflected("study", EN))
    assert inflected("Haus", None) == ["Haus"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("terms.csv", "source,target\nboard,Vorstand\nboard of directors,Aufsichtsrat\n\n# a remark\nApple,Apple\n"),
        ("terms.csv", "board;Vorstand\nboard of directors;Aufsichtsrat\nApple;Apple\n"),
        ("terms.tsv", "board\tVorstand\nboard of directors\tAufsichtsrat\nApple\tApple\n"),
        ("terms.csv", '"board","Vorstand"\r\n"board of directors","Aufsichtsrat"\r\nApple,Apple,\r\n'),
    ],
)
def test_terms_are_found_longest_first(tmp_path: Path, name: str, text: str) -> None:
    glossary = read_glossary(written(tmp_path, text, name), EN, DE)
    terms = glossary.find("The Boards and the board of directors ate an apple at Apple, on board a boarding ship.")
    assert [term.target for term in terms] == ["Vorstand", "Aufsichtsrat", "Apple"]
    assert glossary.find("Boarding and an apple.") == ()
    assert glossary.with_targets("The Boards ate.", terms) == "The Vorstand ate."


def test_what_counts_as_a_translation(tmp_path: Path) -> None:
    glossary = read_glossary(written(tmp_path, "board,Vorstand\nfile,Akte,Akten|Akte\nit,EDV\n"), EN, DE)
    board, file, it = glossary.find("board file it")
    for text in ("Der Vorstand tagt.", "des Vorstandes", "die Vorstände", "Vorstandssitzung", "im Bankvorstand"):
        assert board.is_in(text), text
    assert not board.is_in("Er stand vor dem Haus.")
    assert file.is_in("zwei Akten") and not file.is_in("Aktes"), "only the forms that are given"
    assert it.is_in("die EDV") and not it.is_in("Oedvik")


def test_odd_characters(tmp_path: Path) -> None:
    glossary = read_glossary(
        written(tmp_path, "\u00b5m,Mikrometer\nkilim,Kelim\nC plus plus,C++\nterm,Begriff\n"), EN, DE
    )
    assert [term.target for term in glossary.find("A few \u03bcm of a k\u0131l\u0131m.")] == ["Mikrometer", "Kelim"]
    (plus,) = glossary.find("C plus plus")
    assert plus.is_in("Er lernt C++.") and plus.forms == ("C++",)
    assert glossary.find("a term"), "a first line that only looks a little like a header"


@pytest.mark.parametrize(
    ("text", "message"),
    [("board\n", "column"), ("board,\n", "empty"), ("a,b,c,d\n", "column"), ("# nothing\n", "no terms")],
)
def test_bad_glossaries_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_glossary(written(tmp_path, text), EN, DE)


def test_a_search_for_terms_finds_what_the_plain_search_found(toy: PreparedData, symbols: Tokenizer) -> None:
    """If the best translation has the terms already, it is the result, with its score."""
    model = loaded(toy, symbols)
    searcher = PytorchSearcher(model.model, DecodeConfig(beam=12), None, symbols.joins_word)
    tried = 0
    for text in ("Here is the lamp.", "It is very old.", "Anna saw the house."):
        ids = symbols.encode_each([text])[0]
        request = SearchRequest([ids], (), LengthConstraints((8,), min_tokens=1, stop_at_separator=True))
        best = searcher.search([request])[0][0]
        places = [at for at in range(1, len(best.ids) - 2) if not symbols.joins_word[best.ids[at + 1]]]
        for at in places[:2]:
            form = (best.ids[at],)
            wanted = SearchRequest(**{**vars(request), "terms": [[form]]})
            found = searcher.search_terms([wanted])
            assert all(form[0] in one.ids for one in found)
            assert max(one.score for one in found) == pytest.approx(best.score, abs=1e-6)
            assert searcher.search_terms([wanted, wanted])[0].ids == found[0].ids, "reading it twice changes nothing"
            tried += 1
    assert tried


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "full-segment"])
def test_terms_come_out(toy: PreparedData, symbols: Tokenizer, tmp_path: Path, strategy: str) -> None:
    path = written(tmp_path, "lamp,Leuchte\nold,betagt\nnothing,nichts\n")
    texts = ["Here is the lamp.", f"The lamps of {ADDRESS} are very old.", "It is new."]
    usual: dict[str, Any] = {"strategy": strategy, "length_extra": 12}
    result = translator(loaded(toy, symbols), glossary=path, **usual).translate(texts)
    assert "euchte" in result.texts[0] and "euchte" in result.texts[1] and "etagt" in result.texts[1]
    assert result.texts[1].count(ADDRESS) == 1
    assert not any(segment.missed_terms for segment in result.segments)
    plain = translator(loaded(toy, symbols), **usual).translate(texts)
    assert plain.texts[2] == result.texts[2] or strategy == "sequential"


def test_what_is_missing_is_reported(toy: PreparedData, symbols: Tokenizer, tmp_path: Path) -> None:
    """A search of several sentences at once takes no terms."""
    path = written(tmp_path, "lamp,Leuchte\n")
    block = translator(loaded(toy, symbols, "concat-2"), glossary=path, strategy="full-segment")
    lamp, house = block.translate(["Here is the lamp.", "Here is the house."]).segments
    assert "glossary" in lamp.warnings and lamp.missed_terms == ("lamp → Leuchte",)
    assert "glossary" not in house.warnings and not house.missed_terms


def test_pieces_that_join_a_word(symbols: Tokenizer) -> None:
    joins = symbols.joins_word
    pieces = symbols.pieces(range(len(symbols)))
    assert joins.dtype == np.bool_ and len(joins) == len(symbols)
    assert all(not joins[id] for id, piece in enumerate(pieces) if piece.startswith("▁"))
    assert any(joins[id] for id, piece in enumerate(pieces) if piece.isalpha())


def test_a_glossary_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        DecodeConfig(glossary=Path("nowhere.csv"))
