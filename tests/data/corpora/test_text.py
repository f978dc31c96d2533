import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.data.text import normalise, why_refused


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain text", "plain text"),
        ("  two  spaces  ", "two spaces"),
        ("no\u00a0break\u202fthin\u3000wide", "no break thin wide"),
        ("tab\there\r", "tab here"),
        ("line\u2028separator\u0085next", "line separator next"),
        ("", ""),
        ("\u00a0", ""),
        ("ﬁ ½ … Ä", "ﬁ ½ … Ä"),  # letters are never changed
        ("zero\u200bwidth", "zero\u200bwidth"),
    ],
)
def test_normalise_touches_white_space_only(raw: str, clean: str) -> None:
    assert normalise(raw) == clean


@given(st.text())
def test_normalise_is_idempotent_and_leaves_no_break(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert not any(char in once for char in "\n\r\t\u2028\u2029\u0085")
    assert [c for c in once if not c.isspace()] == [c for c in text if not c.isspace()]


@pytest.mark.parametrize(
    ("text", "part"),
    [("a\x00b", "U+0000"), ("bell\x07", "U+0007"), ("\x9d", "U+009D"), ("a <sep> b", "<sep>"), ("<eos>", "<eos>")],
)
def test_fault_names_what_is_wrong(text: str, part: str) -> None:
    assert part in (why_refused(text) or "")


@pytest.mark.parametrize("text", ["fine", "a < b", "<b>bold</b>", "emoji 😀", "‏right-to-left", ""])
def test_ordinary_text_has_no_fault(text: str) -> None:
    assert why_refused(text) is None
