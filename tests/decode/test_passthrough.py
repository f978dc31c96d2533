"""Characters that a model does not know: kept around a translation, copied where there is nothing else."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.data.text import normalise
from fenster.decode.config import DecodeConfig
from fenster.decode.passthrough import split_passthrough
from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import InputError
from tests.helpers.models import make_loaded, write_model

KNOWN = frozenset("abc .!é")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("abc.", ("", "abc.", "")),
        ("", ("", "", "")),
        ("♪ a b ♫♪", ("♪ ", "a b", " ♫♪")),
        ("a 😀👍🏽!", ("", "a", " 😀👍🏽!")),
        ("a 😀. b ♫...", ("", "a 😀. b", " ♫...")),  # inside
        ("♪ ... ♪", ("♪ ... ♪", "", "")),
        ("a.", ("", "a.", "")),
        ("a . ♪", ("", "a .", " ♪")),
        ("a! ❤\ufe0f", ("", "a!", " ❤\ufe0f")),
        ("🎉 🎉", ("🎉 🎉", "", "")),
        ("漢字", ("漢字", "", "")),
        ("漢字 a", ("", "漢字 a", "")),  # letters may be a name
        ("7 a", ("", "7 a", "")),
        ("♪", ("♪", "", "")),
    ],
)
def test_frames(text: str, parts: tuple[str, str, str]) -> None:
    assert split_passthrough(text, KNOWN) == parts
    assert "".join(split_passthrough(text, KNOWN)) == text


@given(st.text(alphabet="ab .!?…é♪😀\ufe0f漢7", max_size=12).map(normalise))
def test_nothing_is_lost_and_no_symbol_leads_or_ends(text: str) -> None:
    before, core, after = split_passthrough(text, KNOWN)
    assert before + core + after == text
    if core:
        assert core == core.strip() and not {core[0], core[-1]} & set("♪😀\ufe0f")
    else:
        assert not set(text) & set("abcé")


def test_the_tokenizer_knows_its_characters(toy: PreparedData) -> None:
    for character in "aZ.♪é漢 ":
        spelt = toy.tokenizer.pieces(toy.tokenizer.encode_each([f"a{character}a"])[0])
        in_bytes = any(piece.startswith("<0x") for piece in spelt)
        assert (character in toy.tokenizer.characters) != in_bytes


@pytest.mark.parametrize("kind", ["sentence", "concat", "window"])
def test_translations_are_framed_as_their_sources(toy: PreparedData, kind: str) -> None:
    translator = Translator(make_loaded(toy, kind), DecodeConfig(beam=2))
    plain = ["Here is the lamp.", "It is very old.", "", "Nobody needs it."]
    odd = ["♪ Here is the lamp. ♪", "🎉🎉", "It is very old.", "", "Nobody needs it. 😀"]
    wanted = translator.translate(plain).texts
    split_passthrough = [f"♪ {wanted[0]} ♪", "🎉🎉", wanted[1], "", f"{wanted[3]} 😀"]
    found = translator.translate(odd)
    assert found.texts == split_passthrough
    assert [segment.source for segment in found.segments] == odd
    for translation in translator.translate_all([Document.of("a", odd), Document.of("b", odd)]):
        assert translation.texts == split_passthrough


def test_users_are_told(toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, source = write_model(make_loaded(toy, "window"), tmp_path / "model"), tmp_path / "text.txt"
    source.write_text("Here is the lamp.\n♪\nIt is ∇ old.\n♪ Nobody needs it.\n")
    main(["translate", str(source), "-m", str(model), "--beam", "2"])
    told = capsys.readouterr()
    assert told.out.splitlines()[1] == "♪" and told.out.splitlines()[3].startswith("♪ ")
    assert "1 line with segments that the model cannot read, which are copied: 2\n" in told.err
    assert "1 line has characters inside a sentence that the model hardly knows (∇); check: 3\n" in told.err


def test_test_sets_too(toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, test = write_model(make_loaded(toy, "window"), tmp_path / "model"), tmp_path / "test.tsv"
    test.write_text("a\tHere is the lamp.\tHier ist die Lampe.\na\t♪ ♪\t♪ ♪\na\tIt is old.\tSie ist alt.\n")
    options = ["--rules", "none", "--beam", "2", "-o", str(tmp_path / "out.json")]
    main(["evaluate", "-m", str(model), "--test", str(test), *options])
    assert "1 segment has nothing that the model can read; copied unchanged" in capsys.readouterr().err
    assert (tmp_path / "out.txt").read_text().splitlines()[1] == "♪ ♪"


@pytest.mark.parametrize("segment", ["bad \ud800 one", None, 5])
def test_what_is_no_text_is_named(toy: PreparedData, segment: str) -> None:
    translator = Translator(make_loaded(toy, "window"))
    with pytest.raises(InputError, match="segment 1 "):
        translator.translate(["Here is the lamp.", segment])


@pytest.mark.parametrize("text", ["...", "* * *", "|------|-----|", "1.200,50", "50 %", "12:30 - 14:45", "§ 3"])
def test_what_has_no_letters_is_copied(toy: PreparedData, text: str) -> None:
    loaded = make_loaded(toy, "window")
    result = Translator(loaded, DecodeConfig(beam=1)).translate(["Hi, Anna.", text, "Are you tired?"])
    assert result.texts[1] == text and len(result.texts) == 3
