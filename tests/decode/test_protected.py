"""Protected text through a whole translator: random weights, so that nothing but the constraints keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fenster.data.corpora.synthetic import generate
from fenster.data.dataset import PreparedData
from fenster.data.tokenizer import Tokenizer, TokenizerConfig, learn
from fenster.decode.config import DecodeConfig
from fenster.decode.plan import Planner
from fenster.decode.search import ControlSymbols, LengthConstraints, SearchRequest
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.decode.strategies import STRATEGIES
from fenster.decode.translator import Translator
from fenster.document import Document, Mark, Segment
from fenster.errors import ConfigError, InputError
from fenster.language.protected_text import Placeholder
from fenster.model.config import ModelConfig
from fenster.model.model_folder import LoadedModel
from fenster.model.transformer import Transformer
from tests.helpers.models import make_loaded

SENTENCES = [text for d in generate(60, seed=1) for side in (d.pair.source, d.pair.target) for text in side.texts]
ADDRESS, PRICE = "anna.mueller@example.com", "€1,200.50"
TEXTS = [
    f"Here is the lamp of {ADDRESS}, for {PRICE}.",
    "* * *",
    "It is very old and 50% off.",
    f"See {ADDRESS}",
    ADDRESS,
    "At 9:30 pm she came with {name}, %s and `x = 1`.",
]


@pytest.fixture(scope="module")
def symbols() -> Tokenizer:
    return learn(SENTENCES, TokenizerConfig(vocab_size=500, symbols=True))


def loaded(toy: PreparedData, symbols: Tokenizer, kind: str = "window") -> LoadedModel:
    plain = make_loaded(toy, kind)
    description = plain.description.model_copy(update={"vocab_size": len(symbols), "languages": ("en", "de")})
    torch.manual_seed(3)
    model = Transformer(description.model, len(symbols), 0.95).double().eval()
    return replace(plain, model=model, tokenizer=symbols, description=description)


def translator(model: LoadedModel, **changes: Any) -> Translator:
    usual = {"beam": 2, "length_ratio": 1.0, "length_extra": 4, "guards": False}
    return Translator(model, DecodeConfig(**(usual | changes)))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", ["window", "concat-2"])
def test_every_span_comes_out_once(toy: PreparedData, symbols: Tokenizer, strategy: str, kind: str) -> None:
    texts = translator(loaded(toy, symbols, kind), strategy=strategy).translate(TEXTS).texts
    assert len(texts) == len(TEXTS)
    for number, spans in {
        0: [ADDRESS, "1.200,50 €"],
        2: ["50 %"],
        3: [ADDRESS],
        5: ["21:30", "{name}", "%s", "`x = 1`"],
    }.items():
        assert all(texts[number].count(span) == 1 for span in spans), texts[number]
    assert texts[1] == "* * *" and texts[4] == ADDRESS, "what has no words is copied"


@pytest.mark.parametrize("guards", [True, False])
def test_more_spans_than_placeholders(toy: PreparedData, symbols: Tokenizer, guards: bool) -> None:
    spans = [f"user{n}@example.com" for n in range(50)]
    text = "Write to " + ", or to ".join(spans) + " today."
    (result,) = translator(loaded(toy, symbols), guards=guards).translate([text]).texts
    assert all(result.count(span) == 1 for span in spans)


def test_a_model_without_placeholders_translates_what_is_between(toy: PreparedData) -> None:
    way = translator(make_loaded(toy, "window"))
    plan = way.planner.plan(f"See {ADDRESS}, or `x`.")
    assert [part if isinstance(part, str) else part.text.source for part in plan.parts] == [
        "See", " ", ADDRESS, ", or", " ", "`x`", ".",
    ]  # fmt: skip
    for text, result in zip(TEXTS, way.translate(TEXTS).texts, strict=True):
        for span in (ADDRESS, "`x = 1`", "{name}", "%s"):
            assert result.count(span) == text.count(span)


def test_protection_can_be_turned_off(toy: PreparedData, symbols: Tokenizer) -> None:
    plan = translator(loaded(toy, symbols), protection=False).planner.plan(TEXTS[0])
    assert [piece.text.parts for piece in plan.pieces] == [(TEXTS[0],)]


def test_own_patterns_and_terms(toy: PreparedData, symbols: Tokenizer, tmp_path: Path) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_text("# names\nblue lamp\n\n", encoding="utf-8")
    way = translator(loaded(toy, symbols), protect=(r"Mr \w+",), do_not_translate=terms)
    (text,) = way.translate(["Mr Smith has a blue lamp there."]).texts
    assert text.count("Mr Smith") == 1 and text.count("blue lamp") == 1
    with pytest.raises(ValueError, match="is not a regular expression"):
        DecodeConfig(protect=("(",))
    with pytest.raises(ValueError, match="does not exist"):
        DecodeConfig(do_not_translate=tmp_path / "none")


def test_registers(toy: PreparedData, symbols: Tokenizer) -> None:
    model = loaded(toy, symbols)
    first = [int(piece.source[0]) for piece in translator(model).planner.plan("You came.", "formal").pieces]
    assert first == [symbols.registers["formal"]]
    texts = ["Are you tired?", "Can you see?"]
    plain, formal = (translator(model, register=register).translate(texts) for register in ("auto", "formal"))
    assert plain.segments[0].score != formal.segments[0].score
    assert translator(model).translate(texts, register="formal").segments[0].ids == formal.segments[0].ids
    mixed = Document("", (Segment(texts[0], register="formal"), Segment(texts[1], register="informal")))
    assert translator(model).translate(mixed).segments[0].ids == formal.segments[0].ids
    assert translator(model).translate(list(mixed.segments)).segments[0].ids == formal.segments[0].ids
    with pytest.raises(InputError, match="unknown register 'rude'"):
        translator(model).translate(Document("", (Segment("You!", register="rude"),)))
    with pytest.raises(ConfigError, match="does not support registers"):
        translator(make_loaded(toy, "window"), register="formal")


def test_interrupted_documents_continue_with_their_placeholders(toy: PreparedData, symbols: Tokenizer) -> None:
    way = translator(loaded(toy, symbols))
    whole = way.translate(TEXTS).segments
    for done in range(len(TEXTS)):
        rest = list(way.stream(TEXTS, done=whole[:done]))
        assert [one.text for one in rest] == [one.text for one in whole[done:]]


@pytest.mark.parametrize("beam", [1, 3])
def test_constraints_hold_whatever_the_length_limit(beam: int) -> None:
    """Placeholders come even if the limit is too short for them, each in its own sentence, and no others do."""
    torch.manual_seed(0)
    model = Transformer(ModelConfig(encoder_layers=1, decoder_layers=1, d_model=32, ffn=64, heads=2), 80).eval()
    searcher = PytorchSearcher(model, DecodeConfig(beam=beam), ControlSymbols(20, range(6, 16)))
    one, two, three = np.array([7, 30, 9, 15]), np.array([8, 30]), np.array([40, 41])
    limits = LengthConstraints
    requests = [
        SearchRequest([one, two, three], (), limits((6, 3, 3))),
        SearchRequest([two, one], [np.array([33])], limits((1,), min_tokens=1, stop_at_separator=True)),
        SearchRequest([three], (), limits((6,), min_tokens=1)),
    ]
    wanted = [[{7, 9, 15}, {8}, set()], [{7, 9, 15}], [set()]]
    for hypotheses, sentences in zip(searcher.search(requests), wanted, strict=True):
        for hypothesis in hypotheses:
            parts: list[list[int]] = [[]]
            for id in hypothesis.ids:
                if id in (3, 4):
                    parts.append([])
                elif id < 20:
                    parts[-1].append(id)
            assert [set(part) for part in parts[:-1]] == sentences
            assert all(len(part) == len(set(part)) for part in parts)


def test_figures_are_protected_in_the_second_try(toy: PreparedData, symbols: Tokenizer) -> None:
    """Random weights lose every figure: the second try keeps them."""
    way = translator(loaded(toy, symbols), guards=True, length_ratio=2.0)
    for segment in way.translate(["He has 3 dogs, 12 cats and 457 fish.", "It is 1.5 and 7."]).segments:
        for number in ("3", "12", "457") if "dogs" in segment.source else ("1,5", "7"):
            assert number in segment.text or "numbers" in segment.warnings
        assert not {id for id in segment.ids if id < symbols.n_symbols} - set(symbols.placeholders.values())


def test_german_is_copied_with_a_warning(toy: PreparedData, symbols: Tokenizer) -> None:
    text = "Das ist schon Deutsch."
    (segment,) = translator(loaded(toy, symbols)).translate([text]).segments
    assert segment.text == text and segment.warnings == ("language",)
    (other,) = translator(loaded(toy, symbols), assume_language=True).translate([text]).segments
    assert "language" not in other.warnings and other.ids


def test_planner_without_languages_protects_spans_only(symbols: Tokenizer) -> None:
    planner = Planner(symbols, None, DecodeConfig())
    (piece,) = planner.plan(f"It costs 1.5 for {ADDRESS}").pieces
    assert {part.kind for part in piece.text.parts if isinstance(part, Placeholder)} == {"x"}


def test_paired_tags_move_with_their_words(symbols: Tokenizer) -> None:
    planner = Planner(symbols, ("en", "de"), DecodeConfig())
    (piece,) = planner.plan("The <b>red <i>house</i></b> is<br/> old.").pieces
    assert piece.text.visible == "The red house is  old."
    assert [(one.opening, one.closing, one.start, one.end) for one in piece.enclosed] == [
        ("<b>", "</b>", 4, 13),
        ("<i>", "</i>", 8, 13),
    ]


def test_marks_and_invisible_characters_are_no_part_of_words(symbols: Tokenizer) -> None:
    planner = Planner(symbols, ("en", "de"), DecodeConfig())
    text = "The lamp\ue0f20\ue0f3 is old."
    (piece,) = planner.plan(text, marks=[Mark(8, 11)]).pieces
    assert piece.text.parts == ("The lamp", Placeholder("x", 0), " is old.")
    (piece,) = planner.plan("The la\u00admp is\u200b old.").pieces
    assert piece.text.parts == ("The la\u00admp is\u200b old.",)
    assert symbols.decode(piece.source) == "The lamp is old."
    (piece,) = planner.plan("\u202aThe \u2068lamp\u2069 is old.\u202c").pieces
    assert symbols.decode(piece.source) == "The lamp is old."


def test_words_with_unknown_characters_are_protected(symbols: Tokenizer) -> None:
    planner = Planner(symbols, ("en", "de"), DecodeConfig())
    (piece,) = planner.plan("We live in \u0141\u00f3d\u017a, not in \u20b9500.").pieces
    assert sorted(piece.text.values.values()) == ["\u0141\u00f3d\u017a", "\u20b9500."]


def test_what_only_has_unknown_characters_is_reported(toy: PreparedData, symbols: Tokenizer) -> None:
    made = translator(loaded(toy, symbols))
    city = "\u0141\u00f3d\u017a."
    assert made.is_unreadable(city)
    assert not made.is_unreadable(f"We live in {city}") and not made.is_unreadable("Lamp.")


def test_what_is_too_long_for_a_word_is_protected(symbols: Tokenizer) -> None:
    long = "ACGT" * 30
    (piece,) = Planner(symbols, ("en", "de"), DecodeConfig()).plan(f"It is {long}, not {long[:60]}.").pieces
    assert list(piece.text.values.values()) == [long]


def test_numbers_without_words_are_written_in_the_target_language(toy: PreparedData, symbols: Tokenizer) -> None:
    texts = ["€1,240.00", "7.5%", "| 2.5 | 11 |", "$1.5 million", "2:30 pm", "10.0.0.1", "<b>1,200.5</b>", "1.2.3"]
    wanted = [
        "1.240,00 €",
        "7,5 %",
        "| 2,5 | 11 |",
        "1,5 Millionen Dollar",
        "14:30",
        "10.0.0.1",
        "<b>1.200,5</b>",
        "1.2.3",
    ]
    model = loaded(toy, symbols)
    assert translator(model).translate(texts).texts == wanted
    kept = [text for text in texts if "million" not in text]
    assert translator(model, numbers="keep").translate(kept).texts == kept
    assert translator(model, protection=False).translate(texts[:3]).texts == texts[:3]


def test_a_half_hour_in_words_has_no_hour_word(symbols: Tokenizer) -> None:
    (piece,) = Planner(symbols, ("en", "de"), DecodeConfig()).plan("He came at half past seven.").pieces
    assert piece.with_figures("Er kam um halb acht Uhr.") == "Er kam um halb acht."
    assert piece.with_figures("Er kam um halb acht.") == "Er kam um halb acht."


def test_what_is_easily_misread_is_read_differently(symbols: Tokenizer) -> None:
    planner = Planner(symbols, ("en", "de"), DecodeConfig(assume_language=True))

    def read(text: str) -> str:
        (piece,) = planner.plan(text).pieces
        return symbols.decode([int(id) for id in piece.source])

    assert read("In the U.K. it is so.") == "In the UK it is so." and read("In the U.K.") == "In the UK."
    assert read("World War I began.") == "The First World War began."
    assert read("After World War I, it ended.") == "After the First World War, it ended."
    assert read("A World War I diary of his.") == "A First World War diary of his."
    assert read("In the U.K. 10,000 died.").startswith("In the UK ")
    assert "`U.K.`" in planner.plan("Type `U.K.` now.").pieces[0].text.values.values(), "never in protected text"
    plain = Planner(symbols, ("en", "de"), DecodeConfig(assume_language=True, protection=False))
    assert symbols.decode(plain.plan("In the U.K.").pieces[0].source.tolist()) == "In the U.K."


def test_capitals_are_read_in_small_letters(toy: PreparedData, symbols: Tokenizer) -> None:
    model = loaded(toy, symbols)
    text = f"HERE IS THE LAMP OF {ADDRESS}, AND IT IS OLD."
    (piece,) = Planner(symbols, ("en", "de"), DecodeConfig()).plan(text).pieces
    (small,) = (
        Planner(symbols, ("en", "de"), DecodeConfig()).plan(f"Here is the lamp of {ADDRESS}, and it is old.").pieces
    )
    assert piece.is_capitals and not small.is_capitals
    assert piece.source.tolist() == small.source.tolist()
    (result,) = translator(model).translate([text]).texts
    assert result.count(ADDRESS) == 1 and result.replace(ADDRESS, "").upper() == result.replace(ADDRESS, "")


def test_full_segment_decoding_is_not_always_unsure(toy: PreparedData) -> None:
    """The log-probability of a block is shared among its sentences."""
    model = make_loaded(toy, "concat")
    block = translator(model, strategy="full-segment").translate(["Hi, Anna.", "Are you tired?", "It is very old."])
    alone = translator(model, strategy="sentence").translate(["Hi, Anna.", "Are you tired?", "It is very old."])
    for segment in (*block.segments, *alone.segments):
        assert ("unsure" in segment.warnings) == (segment.score < -0.9 and len(segment.ids) >= 4)


def test_a_document_has_a_register_once_its_forms_agree(toy: PreparedData, symbols: Tokenizer) -> None:
    steady = translator(loaded(toy, symbols), register="steady", guards=True)
    state = steady.open(0, Document.of("", ["You see."]))
    for text, register in (("Siehst du dich?", None), ("Das sehen Sie.", None), ("dir, dich, dein, du", "informal")):
        state.style.add("You see.", text)
        assert state.style.steady_register == register
    state.style.add("You see.", "Das sehen Sie, wenn Sie Ihnen Ihre, wie Sie es sagen, wenn Sie wollen.")
    assert state.style.steady_register is None, "they do not agree any more"
    assert len(steady.translate(["Are you tired?", "You are very old."]).texts) == 2


def test_a_steady_register_does_not_depend_on_the_batch(toy: PreparedData, symbols: Tokenizer) -> None:
    steady = translator(loaded(toy, symbols), register="steady", strategy="sentence", guards=True, batch_size=8)
    state, pool = steady.open(0, Document.of("", ["You see.", "It is old.", "Are you tired?"])), steady.pool()
    pool.add(state)
    for _ in range(3):
        pool.gather()
        assert len(pool._requests) == 1, "each sentence depends on those before it"
        assert len(list(pool.step())) == 1
    assert state.finished
    with pytest.raises(ConfigError, match="steady has no effect on full-segment"):
        translator(loaded(toy, symbols), register="steady", strategy="full-segment")


def test_a_second_try_names_the_register(toy: PreparedData, symbols: Tokenizer) -> None:
    """A sentence that leaves the register of its document is read again with the symbol of that register."""
    steady = translator(loaded(toy, symbols), register="steady", guards=True)
    (piece,) = steady.planner.plan("Are you tired?").pieces
    request = steady._second_try._alone(piece.text, piece)
    informal = replace(piece, register="informal")
    _, again = steady._second_try._request(request, informal, ("register",), ())
    assert again.source[0].tolist() == [symbols.registers["informal"], *piece.source.tolist()]
