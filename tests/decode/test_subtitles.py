"""Subtitles: only the words change, and sentences over several cues are one."""

from __future__ import annotations

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.decode.files.cue_split import split_text, wrapped
from fenster.errors import InputError
from tests.helpers.files import parse, render

SRT = """1
00:00:01,000 --> 00:00:03,000
I never thought that I would
see you again, Anna. You

2
00:00:03,200 --> 00:00:05,000
<i>look well.</i>

3
00:00:10,000 --> 00:00:12,000
- Are you tired?
- No, not at all.

4
00:00:20,000 --> 00:00:21,000 X1:100
{\\an8}♪ La la la ♪
"""
VTT = """WEBVTT - a film

NOTE nothing to see here

STYLE
::cue { color: red }

intro
00:01.000 --> 00:03.000 align:start
If you come

00:03.100 --> 00:05.000
tomorrow, I will wait.
"""
ASS = """[Script Info]
Title: A film

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,not shown
Dialogue: 0,0:00:01.00,0:00:03.00,Default,Anna,0,0,0,,{\\i1}Here, at last,\\Nis the lamp.{\\i0}
Dialogue: 0,0:00:04.00,0:00:05.00,Default,,0,0,0,,
"""


def test_sentences_over_several_cues_are_one() -> None:
    assert [one.text for one in parse(SRT, "a.srt").segments] == [
        "I never thought that I would see you again, Anna.",
        "You look well.",
        "Are you tired?",
        "No, not at all.",
        "La la la",
    ]
    assert [one.text for one in parse(VTT, "a.vtt").segments] == ["If you come tomorrow, I will wait."]
    assert [one.text for one in parse(ASS, "a.ass").segments] == ["Here, at last, is the lamp."]


def cues(*texts: str, head: str = "") -> str:
    """Cues of two seconds with these lines."""
    times = ((f"00:00:{3 * n:02d}.000", f"00:00:{3 * n + 2:02d}.000") for n in range(len(texts)))
    return head + "\n".join(f"{a} --> {b}\n{text}\n" for (a, b), text in zip(times, texts, strict=True))


def test_every_line_of_a_cue_may_have_its_own_tags() -> None:
    lines = cues("<i>When I was a child</i>\n<i>I lived here.</i>", "- <i>Who?</i>\n- <i>He.</i>", "<i>Never</i> go.")
    parsed = parse(lines, "a.srt")
    assert [one.text for one in parsed.segments] == [
        "When I was a child I lived here.",
        "Who?",
        "He.",
        "<i>Never</i> go.",
    ]
    made = render(parsed, lambda text: text.replace("child", "boy").replace("?", "!").replace("He", "She"))
    assert "<i>When I was a boy I lived here.</i>\n" in made and "- <i>Who!</i>\n- <i>She.</i>\n" in made
    ass = ASS.replace("{\\i1}Here, at last,", "{\\i1}Here{\\i0}, at last,")
    assert [one.text for one in parse(ass, "a.ass").segments] == ["{\\i1}Here{\\i0}, at last, is the lamp."]


def test_a_turn_may_take_two_lines() -> None:
    parsed = parse(cues("- Yes.\n- No, not\nreally."), "a.srt")
    assert [one.text for one in parsed.segments] == ["Yes.", "No, not really."]
    assert "- YES.\n- NO, NOT REALLY.\n" in render(parsed, str.upper)


def test_entities_are_read() -> None:
    parsed = parse(cues("She won&apos;t&nbsp;come, &quot;R&amp;D&quot; &lt; 3.", head="WEBVTT\n\n"), "a.vtt")
    assert [one.text for one in parsed.segments] == ['She won\'t come, "R&amp;D" &lt; 3.']


@pytest.mark.parametrize(("text", "name"), [(SRT, "a.srt"), (VTT, "a.vtt"), (ASS, "a.ass")])
def test_only_the_words_change(text: str, name: str) -> None:
    made = render(parse(text, name), str.upper)
    lowered = [line for line in text.splitlines() if "-->" in line or line[:5] in ("Comme", "NOTE ", "STYLE")]
    assert [line for line in made.splitlines() if line in lowered] == lowered
    ours, theirs = (pysubs2.SSAFile.from_string(one, format_=name[2:]) for one in (text, made))
    assert [(one.start, one.end) for one in ours] == [(one.start, one.end) for one in theirs]
    words = [" ".join(one.plaintext.replace("\n", " ").split()) for one in theirs if not one.is_comment]
    assert words == [" ".join(one.plaintext.replace("\n", " ").split()).upper() for one in ours if not one.is_comment]


def test_markup_and_speakers_stay() -> None:
    made = render(parse(SRT, "a.srt"), str.upper)
    assert "<i>LOOK WELL.</i>" in made and "{\\an8}♪ LA LA LA ♪" in made
    assert "- ARE YOU TIRED?\n- NO, NOT AT ALL.\n" in made
    assert "{\\i1}HERE, AT LAST, IS THE LAMP.{\\i0}" in render(parse(ASS, "a.ass"), str.upper)


def test_line_ends_and_a_missing_one_are_kept() -> None:
    text = SRT.replace("\n", "\r\n").rstrip()
    made = render(parse(text, "a.srt"), str.upper)
    assert made.count("\r\n") == text.count("\r\n") and not made.endswith("\n")


def test_long_translations_are_wrapped_and_reported() -> None:
    parsed = parse("1\n00:00:01,000 --> 00:00:02,000\nHi.\n", "a.srt")
    made = render(parsed, lambda _: "Dies ist ein langer Satz, der sicher nicht in eine Zeile passt.")
    assert made.splitlines()[2:] == ["Dies ist ein langer Satz,", "der sicher nicht in eine Zeile passt."]
    assert parsed.remarks() == ["1 cue is read at more than 17 characters per second"]


@pytest.mark.parametrize("text", ["", "\n", "WEBVTT\n\n", "[Script Info]\n"])
def test_files_without_words_come_back_as_they_were(text: str) -> None:
    assert render(parse(text, "a.srt"), str.upper) == text


@pytest.mark.parametrize("text", ["1\n", "no subtitles\n", "1\n00:00:01,000 -> 00:00:02,000\nHi.\n"])
def test_files_without_cues_are_an_error(text: str) -> None:
    with pytest.raises(InputError, match="no cue"):
        parse(text, "a.srt")


def test_what_stands_alone_stays_alone() -> None:
    rows = [
        "[phone ringing]",
        "ANNA: I am coming.",
        "Subtitles by Jane",
        "THE END",
        "\u266a Happy birthday",
        "dear Tom \u266a",
    ]
    text = "".join(f"{n}\n00:00:{n:02d},000 --> 00:00:{n:02d},900\n{row}\n\n" for n, row in enumerate(rows, 1))
    assert [one.text for one in parse(text, "a.srt").segments] == [
        "[phone ringing]",
        "ANNA: I am coming.",
        "Subtitles by Jane",
        "THE END",
        "Happy birthday dear Tom",
    ]


def test_markup_is_never_cut_and_drawings_stay() -> None:
    tag = '<font face="Arial" size="12" color="#FFFF00">'
    made = render(parse(f"\ufeff1\n00:00:01,000 --> 00:00:02,000\n{tag}Yes.</font>\n", "a.srt"), str.upper)
    assert made.startswith("\ufeff1\n") and f"{tag}YES.</font>\n" in made
    drawing = ASS.replace("{\\i1}Here, at last,\\Nis the lamp.{\\i0}", "{\\p1}m 0 0 l 100 0{\\p0}")
    assert render(parse(drawing, "a.ass"), str.upper) == drawing
    spoken = "1\n00:00:01,000 --> 00:00:02,000\nDialogue: a good thing.\n"
    assert [one.text for one in parse(spoken, "a.srt").segments] == ["Dialogue: a good thing."]


@given(
    st.lists(st.text("ab,. ", min_size=1, max_size=12), max_size=8),
    st.lists(st.integers(0, 40), min_size=1, max_size=5),
)
def test_no_word_is_lost(words: list[str], shares: list[int]) -> None:
    text = " ".join(" ".join(words).split())
    parts = split_text(text, shares, frozenset({"a"}))
    assert len(parts) == len(shares) and " ".join(filter(None, parts)) == text
    assert " ".join(wrapped(text, 10)) == text


def test_cuts_read_well() -> None:
    assert split_text("Er kam, sah und siegte.", (1, 1)) == ["Er kam,", "sah und siegte."]
    assert split_text("Ich sehe das Haus dort.", (1, 1), frozenset({"das"})) == ["Ich sehe", "das Haus dort."]


def srt(*cues: str) -> str:
    times = (f"00:00:{2 * n:02d},000 --> 00:00:{2 * n + 1:02d},900" for n in range(len(cues)))
    return "".join(f"{n}\n{time}\n{cue}\n\n" for n, (time, cue) in enumerate(zip(times, cues, strict=True), 1))


@pytest.mark.parametrize(
    ("cues", "segments"),
    [
        (["This is a true story", "Mom, where are you?"], ["This is a true story", "Mom, where are you?"]),
        (["It is very late", "He said so."], ["It is very late", "He said so."]),
        (["He lives in", "Paris, where it rains."], ["He lives in Paris, where it rains."]),
        (["and then", "I saw it."], ["and then I saw it."]),
        (["the house of", "Anna Wood."], ["the house of Anna Wood."]),
        (["# Happy birthday to you #", "Mr. Wood came."], ["Happy birthday to you", "Mr. Wood came."]),
        ([">> Hello", ">> Hi, John"], ["Hello", "Hi, John"]),
        (["MAN 1: Run!\nWOMAN: Where?"], ["MAN 1: Run!", "WOMAN: Where?"]),
        (["♪ Oh, baby ♪\n♪ I love you so ♪"], ["Oh, baby", "I love you so"]),
    ],
)
def test_who_speaks_when(cues: list[str], segments: list[str]) -> None:
    parsed = parse(srt(*cues), "a.srt")
    assert [one.text for one in parsed.segments] == segments
    assert sorted(render(parsed, lambda text: text + " ").split()) == sorted(srt(*cues).split())


def test_two_voices_of_a_vtt_cue() -> None:
    text = "WEBVTT\n\n00:00.000 --> 00:02.000\n<v Mary>Are you <i>sure</i>?</v>\n<v Tom>Yes, I am.</v>\n"
    parsed = parse(text, "a.vtt")
    assert [one.text for one in parsed.segments] == ["Are you <i>sure</i>?", "Yes, I am."]
    made = render(parsed, lambda text: text.replace("Yes", "Ja"))
    assert made == text.replace("Yes", "Ja")


def test_cues_with_a_time_for_every_word_stay() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:03.000\nTell <00:02.000>us\n"
    text += "\n00:05.000 --> 00:07.000\nIt is <ruby>A<rt>B</rt></ruby>\n"
    parsed = parse(text, "a.vtt")
    assert parsed.segments == [] and render(parsed, str.upper) == text
    assert parsed.remarks() == ["2 lines of karaoke, or with a time for every word, left unchanged"]


def test_notes_signs_and_karaoke_of_ass() -> None:
    lines = [
        "{TL note: a pun}It is late.{\\i0}{mine}",
        "It {a note}is late.",
        "{\\pos(320,50)}BAKERY\\NOpen today",
        "{\\k20}Hel{\\k30}lo",
    ]
    text = "".join(
        f"Dialogue: 0,0:00:{n:02d}.00,0:00:{n:02d}.90,Default,,0,0,0,,{line}\n" for n, line in enumerate(lines)
    )
    parsed = parse(text, "a.ass")
    assert [one.text for one in parsed.segments] == ["It is late.", "It is late.", "BAKERY", "Open today"]
    made = render(parsed, lambda text: text.replace("late", "spät").replace("Open", "Offen"))
    wanted = text.replace("late", "spät").replace("Open", "Offen").replace("{a note}is spät.", "is spät.{a note}")
    assert made == wanted
    assert parsed.remarks()[0] == "1 line of karaoke, or with a time for every word, left unchanged"
