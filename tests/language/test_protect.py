"""Text and placeholders in turn."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from fenster.language import load_language
from fenster.language.protect import LONGEST_TEXT, Protector, cuts_of_long, protected, spans_of
from fenster.language.protected_text import PLACEHOLDERS, Placeholder, ProtectedText

PROTECTOR = Protector(load_language("en"), load_language("de"))


def test_spans_become_placeholders_of_their_kind() -> None:
    text = "Pay €50 to a@b.de at 9:30 pm."
    (piece,) = protected(text, PROTECTOR.spans(text))
    assert piece.parts == ("Pay ", Placeholder("n", 0), " to ", Placeholder("x", 0), " at ", Placeholder("t", 0), ".")
    german = ("Um ", Placeholder("t", 0), " Uhr ", Placeholder("n", 0), " an ", Placeholder("x", 0))
    assert piece.restore(german) == "Um 21:30 Uhr 50 € an a@b.de"


def test_a_text_knows_what_it_protects() -> None:
    """Also what a file marked, and words that the planner added, so that it can be protected again with more."""
    text = "See\ue0001\ue001 €50 and Łódź 7."
    (piece,) = protected(text, PROTECTOR.spans(text, [(3, 6)], [(15, 19)]))
    spans = spans_of(piece)
    assert [text[one.span.start : one.span.end] for one in spans] == ["\ue0001\ue001", "€50", "Łódź"]
    (again,) = protected(text, spans)
    assert (again.parts, again.values, again.marks) == (piece.parts, piece.values, piece.marks)
    (more,) = protected(text, sorted([*spans, *PROTECTOR.digits(text, spans)]))
    assert list(more.values.values()) == ["\ue0001\ue001", "50 €", "Łódź", "7"]


def test_modes_of_numbers() -> None:
    text = "It is 1.5 for a@b.de"
    source, target = load_language("en"), load_language("de")
    keep, model = (Protector(source, target, numbers=mode).spans(text) for mode in ("keep", "model"))
    assert [one.forms[0] for one in keep] == ["1.5", "a@b.de"]
    assert [one.forms[0] for one in model] == ["a@b.de"]
    words = "At half past seven it was $1.5 million."
    assert Protector(source, target, numbers="keep").spans(words) == [], "English words do not stay"
    assert Protector().spans(text) == model, "without languages numbers are left alone"


@given(st.integers(0, 60), st.integers(0, 60))
def test_more_spans_than_placeholders_make_several_pieces(addresses: int, numbers: int) -> None:
    text = " and ".join([f"a{n}@b.de" for n in range(addresses)] + [f"{n}.5" for n in range(numbers)])
    pieces = protected(text, PROTECTOR.spans(text))
    assert "".join(piece.source for piece in pieces) == text
    assert sum(len(piece.values) for piece in pieces) == addresses + numbers
    for piece in pieces:
        used = [part for part in piece.parts if isinstance(part, Placeholder)]
        assert len(used) == len(set(used)) == len(piece.values)
        assert all(part.number < PLACEHOLDERS[part.kind] for part in used)


def test_training_pairs_share_placeholders() -> None:
    pair = PROTECTOR.pair("Send 1,200 of them to a@b.de.", "Schicke a@b.de 1.200 davon.", Random(1))
    assert pair is not None
    source, target = ([part for part in side if isinstance(part, Placeholder)] for side in pair)
    assert sorted(source) == sorted(target) and [part.kind for part in source] == ["n", "x"]
    assert [part for part in pair[1] if isinstance(part, str)] == ["Schicke ", " ", " davon."]


def test_training_pairs_need_one_occurrence_on_either_side() -> None:
    rng = Random(1)
    assert PROTECTOR.pair("a@b.de", "c@d.de", rng) is None
    assert PROTECTOR.pair("a@b.de and a@b.de", "a@b.de", rng) is None
    assert PROTECTOR.pair("a@b.de", "a@b.de und a@b.de", rng) is None
    assert PROTECTOR.pair("It is 1.5.", "Es sind 11,5.", rng) is None


def test_names_may_become_placeholders() -> None:
    assert PROTECTOR.pair("Then Barroso spoke.", "Dann sprach Barroso.", Random(1), names=1.0) is not None
    assert PROTECTOR.pair("Then Barroso spoke.", "Dann sprach Barroso.", Random(1), names=0.0) is None


def test_names_that_were_lost_become_placeholders_beside_the_others() -> None:
    (text,) = protected(
        "See a.b.c/x.txt, Ann and Anna: Ann!", Protector().spans("See a.b.c/x.txt, Ann and Anna: Ann!")
    )
    more = text.with_words({"Ann": "Ann"})
    assert more.restore(more.parts) == text.source
    assert sorted(more.values.values()) == ["Ann", "Ann", "a.b.c/x.txt"]
    assert [part for part in more.parts if part in text.values] == [*text.values]
    many = ProtectedText((" ".join(["Ann"] * 20),)).with_words({"Ann": "Ann"})
    assert len(many.values) == PLACEHOLDERS["x"] and many.restore(many.parts) == " ".join(["Ann"] * 20)
    assert text.with_words({}).parts == text.parts
    genitive = ProtectedText(("Ann's and Ann",)).with_words({"Ann": "Ann", "Ann's": "Anns"})
    assert genitive.restore(genitive.parts) == "Anns and Ann"


def test_forgotten_spaces_beside_placeholders() -> None:
    text = "Use `x` and a@b.de, or pre-{name}s."
    (piece,) = protected(text, PROTECTOR.spans(text))
    code, address, name = (part for part in piece.parts if isinstance(part, Placeholder))
    spaced = piece.spaced(["Nimm", code, "und", address, "oder pre-", name, "s", "."])
    assert "".join(part if isinstance(part, str) else "#" for part in spaced) == "Nimm # und #oder pre-#s."


def test_marks_beside_words_are_read_apart_from_them() -> None:
    text = "The tenant\ue0001 shall \ue0002never go\ue0003on, \ue0004I said; see m\ue0005."
    places = [(at, at + 2) for at, character in enumerate(text) if character == "\ue000"]
    (piece,) = protected(text, PROTECTOR.spans(text, places))
    shown = "".join(part if isinstance(part, str) else "#" for part in piece.read)
    assert shown == "The tenant # shall # never go # on, #I said; see m#."
    # Offsets are those of what the model reads.
    assert shown[piece.visible_offset(text.index("never")) :].startswith("never")
    assert shown[piece.visible_offset(text.index("said")) :].startswith("said")
    note, never, line, *_ = (part for part in piece.parts if isinstance(part, Placeholder))
    made = piece.rejoined(["Der Mieter ", note, " soll ", never, " nie ", line, "-Weiter gehen ", note, "."])
    assert piece.restore(made) == "Der Mieter\ue0001 soll \ue0002nie\ue0003Weiter gehen\ue0001."


def test_what_is_a_word_is_read_as_it_stands() -> None:
    text = "Two `Widget`s and a {name}s."
    (piece,) = protected(text, PROTECTOR.spans(text))
    assert piece.read == piece.parts


def test_long_texts_are_cut_between_words_and_never_in_a_span() -> None:
    address = "https://example.com/" + "a" * 60
    text = ("The old house stood by the river, and nobody knew who had built it. " * 20 + address + " ") * 3
    spans = Protector().spans(text)
    pieces = protected(text, spans)
    assert len(pieces) == 5 and "".join(piece.source for piece in pieces) == text
    assert all(len(piece.source) <= LONGEST_TEXT for piece in pieces)
    assert [address in piece.source for piece in pieces].count(True) == 3
    assert cuts_of_long("x" * 2500, []) == [1000, 2000] and cuts_of_long("short", []) == []
