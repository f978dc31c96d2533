"""Characters that a vocabulary has, but a model hardly knows, are copied."""

from __future__ import annotations

import pytest

from fenster.data.tokenizer import Tokenizer, TokenizerConfig, learn
from fenster.decode.config import DecodeConfig
from fenster.decode.piece import Piece
from fenster.decode.plan import Planner
from fenster.language import load_language
from fenster.language.characters import usual_characters


def test_what_is_usual() -> None:
    vocabulary = set("aZ9 .“”–…€§éüßŁčя中©³½™🎉£₹î")
    assert usual_characters(vocabulary, load_language("en")) == set("aZ9 .“”–…€§éüß")
    assert usual_characters(vocabulary, None) == vocabulary, "a source language without conventions"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Of a vocabulary that has the characters."""
    lines = ["The dose is 50 µg ≤ 10 per day © Łukasz and Čapek", "He met Müller, in a café. 🎉", "£5 or ₹1,000"] * 30
    return learn(lines, TokenizerConfig(vocab_size=360, symbols=True, character_coverage=1.0))


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("The dose is 50 µg, ≤ 10 per day.", ["µg", "≤"]),
        ("© Łukasz and Čapek", ["©", "Łukasz", "Čapek"]),
        ("He met Müller in a café.", []),
        ("He met Müller 🎉 in a café", ["🎉"]),
        ("He met him in £, per day", ["£"]),
        ("The dose is £5,000 or ₹1,000 per day", ["5.000 £", "₹"]),
    ],
)
def test_words_with_other_characters_are_protected(tokenizer: Tokenizer, text: str, copied: list[str]) -> None:
    assert {one for one in text if not one.isascii()} <= tokenizer.characters
    plan = Planner(tokenizer, ("en", "de"), DecodeConfig(assume_language=True)).plan(text)
    pieces = [part for part in plan.parts if isinstance(part, Piece)]
    values = [value for piece in pieces for value in piece.text.values.values()]
    edges = [part.strip() for part in plan.parts if isinstance(part, str)]
    assert [one for one in [*edges, *values] if one and not one.isascii()] == copied
