"""Which capitalised words are names."""

from __future__ import annotations

from pathlib import Path

import pytest

from fenster.errors import InputError
from fenster.language import lexicon as module
from fenster.language import load_language
from fenster.language.lexicon import Lexicon, LexiconBuilder

ENGLISH = load_language("en")


@pytest.fixture
def lexicon() -> Lexicon:
    builder = LexiconBuilder()
    builder.add("The train to Munich is late.", "Der Zug nach München hat Verspätung.")
    builder.add("He met Anna in Berlin.", "Er traf Anna in Berlin.")
    for _ in range(60):
        builder.add("We took a train to London.", "Wir fuhren mit dem Zug nach London.")
    builder.add("an ashdodd, whatever it is", "ein Ding")
    return builder.lexicon()


def test_names_are_capitalised_words_that_are_not_known(lexicon: Lexicon) -> None:
    assert lexicon.names("Anna took the train from Munich to London, then to Ashdod.", ENGLISH) == ("Anna", "Ashdod")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("Train", "it is a word, and occurs in small letters"),
        ("Munich", "it is translated"),
        ("London", "it is frequent: the model knows it"),
        ("Lydians", "it ends like a people"),
        ("Al", "it is short"),
        ("don", "it has no capital"),
        ("R2D", "it has digits"),
    ],
)
def test_what_is_no_name(lexicon: Lexicon, word: str, why: str) -> None:
    assert lexicon.names(f"We went to {word} met", ENGLISH) == (), why


def test_names_beside_punctuation_and_more_than_once(lexicon: Lexicon) -> None:
    assert lexicon.names("Anna's train (Ashdod-London): Anna!", ENGLISH) == ("Anna", "Ashdod")


@pytest.mark.parametrize("typed", ["Trian", "Tran", "Trrain", "Traim"])
def test_a_mistyped_word_at_the_start_is_no_name(lexicon: Lexicon, typed: str) -> None:
    assert lexicon.names(f"{typed} to Ashdod. {typed} again", ENGLISH) == ("Ashdod",)
    assert lexicon.names("Ashdod is like a rare word", ENGLISH) == ("Ashdod",)
    assert lexicon.names(f"To {typed} and Ashdod", ENGLISH) == (typed, "Ashdod")
    assert lexicon.names("Ashdod and TRAIM", ENGLISH) == ("Ashdod", "TRAIM")


def test_exclamations_and_long_mistyped_words_are_no_names() -> None:
    builder = LexiconBuilder()
    for _ in range(60):
        builder.add("the government met on Wednesday", "die Regierung traf sich am Mittwoch")
    lexicon = builder.lexicon()
    assert lexicon.names("Pleeease! Hooray! the Governement on Wednsday", ENGLISH) == ()
    assert lexicon.names("the Ghanaian and the Dutchwoman, Franciscans and Hittites", ENGLISH) == ()


def test_where_nouns_have_capitals_there_are_no_names(lexicon: Lexicon) -> None:
    assert lexicon.names("Das Haus in Ashdod", load_language("de")) == ()


def test_the_first_word_of_a_sentence_shows_nothing() -> None:
    builder = LexiconBuilder()
    builder.add('Xanthe said: "Yorick is translated."', "Er sagte das.")
    assert builder.lexicon().names("We saw Xanthe Yorick", ENGLISH) == ("Xanthe", "Yorick")


def test_rare_words_are_forgotten_before_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_TYPES", 6)
    builder = LexiconBuilder()
    for _ in range(3):
        builder.add("the train to Munich", "der Zug nach München")
    builder.add("some other words that occur once", "andere")
    names = builder.lexicon().names("The Train To Munich Some Other", ENGLISH)
    assert names == ("Some", "Other")


def test_a_lexicon_is_read_again(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.save(tmp_path / "lexicon.bin")
    again = Lexicon.load(tmp_path / "lexicon.bin")
    assert "Munich" in again and "Ashdod" not in again
    (tmp_path / "lexicon.bin").write_bytes(b"short")
    with pytest.raises(InputError, match="5 bytes"):
        Lexicon.load(tmp_path / "lexicon.bin")
