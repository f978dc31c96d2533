"""What is said in subtitles: the turns of speakers in each cue, and the passages that go over several cues."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fenster.data.sentence_split import sentences
from fenster.data.text import normalise
from fenster.language import Language, languages, load_language

_PAUSE = 2000  # milliseconds after which a sentence is not continued
_LONGEST = 4  # cues of a sentence
MARKUP = r"(?:<[^<>]*>|\{[^{}]*\})"
_COMMENT = re.compile(r"\{(?!\\)[^{}]*\}")  # of .ass, never shown
_SIGN = re.compile(r"\\(?:pos|move)\(")  # words that stand somewhere in the picture
_BEFORE = re.compile(rf"(?:{MARKUP}|[♪#]|\s)*")
_MARKUP = re.compile(MARKUP)
_SPEAKER = r"(?:[-–—‐]|>>+|(?:&gt;){2,})"
_DASH = re.compile(rf"((?:{MARKUP})*{_SPEAKER}\s*(?:{MARKUP})*)(?=\S)")
_AGAIN = re.compile(r"</(\w+)>\s+<\1>|\{\\([ibus])0\}\s+\{\\(?:\2)1\}")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|lrm|rlm|#0*38|#0*60|#0*62);)#?\w+;")
_ENDS_IN_DASH = re.compile(rf"{_SPEAKER}\s*$")
_STANDS_ALONE = re.compile(r"[\[(][^\])]*[\])]$|[^a-z]*[A-Z][^a-z]*$")  # a sound, a title
_LABEL = re.compile(r"[A-Z][A-Z0-9 .'-]+:")
_MUSIC = "♪#"
_INTERJECTION = re.compile(r"[^\W\d_][\w'’]*[,!?]")
_ENDS = re.compile(rf"[.!?…:;]['\"”’»)\]]*(?:{MARKUP})*$")


@dataclass(frozen=True)
class Turn:
    """What one speaker says in one cue: markup and a dash before it, the words, markup after it."""

    cue: int
    before: str
    text: str
    after: str


@dataclass(frozen=True)
class Cue:
    line: int
    """Index of its first line of words in the file."""
    count: int
    """Lines of words."""
    start: int
    end: int
    """In milliseconds."""
    head: str = ""
    """What stands before the words on their line (.ass)."""


@dataclass(frozen=True)
class Passage:
    """Turns that belong together, and the sentences that they form."""

    turns: tuple[Turn, ...]
    segments: tuple[str, ...]


def turns_of(number: int, cue: Cue, lines: list[str], styled: bool) -> list[Turn]:
    """The words of a cue by speaker: lines that begin with a dash are turns of their own."""
    words = ""
    if styled:
        words = lines[cue.line].rstrip("\r\n")[len(cue.head) :].replace("\\h", " ")
        rows = re.split(r"\\[Nn]", words)
    else:
        rows = [line.rstrip("\r\n") for line in lines[cue.line : cue.line + cue.count]]
        rows = [_ENTITY.sub(lambda entity: html.unescape(entity.group()), row) for row in rows]
    turns: list[list[str]] = [[]]
    is_sign = styled and _SIGN.search(words) is not None
    for row in map(str.strip, rows):
        if turns[-1] and _starts_turn(row, turns[-1][-1], is_sign):
            turns.append([])
        turns[-1].append(row)
    return [_turn(number, " ".join(turn), styled) for turn in turns]


def _starts_turn(row: str, before: str, is_sign: bool) -> bool:
    """True if a row of a cue does not continue the one before it: another speaker, a line of a song, a sign."""
    sung = row.startswith(tuple(_MUSIC)) and before.endswith(tuple(_MUSIC))
    return is_sign or sung or row.startswith("<v ") or any(one.match(row) is not None for one in (_DASH, _LABEL))


def _turn(cue: int, text: str, styled: bool) -> Turn:
    text = _AGAIN.sub(" ", text)  # every line of a cue may have its own tags
    opening = _BEFORE.match(text)
    assert opening is not None  # it may be empty
    end = _words_end(text, opening.end())
    before, inner, after = opening.group(), text[opening.end() : end], text[end:]
    if styled:
        after = "".join(_COMMENT.findall(inner)) + after
        inner = _COMMENT.sub("", inner)
    dash = _DASH.match(inner)
    if dash is not None:
        before, inner = before + dash.group(), inner[dash.end() :]
    return Turn(cue, *_balanced(before, inner, after))


def _words_end(text: str, begin: int) -> int:
    """Where the words of a text end, if they begin at `begin`: before markup, notes of music and white space."""
    end = len(text)
    while end > begin:
        last = text[end - 1]
        start = text.rfind("<" if last == ">" else "{", begin, end) if last in ">}" else -1
        if last.isspace() or last in _MUSIC:
            end -= 1
        elif start >= 0 and _MARKUP.fullmatch(text, start, end):
            end = start
        else:
            break
    return end


def _balanced(before: str, inner: str, after: str) -> tuple[str, str, str]:
    """What is around some words without the tags that belong to only some of them: <i>No</i>, not here."""
    while (tag := re.search(r"(?:<(\w+)[^<>]*>|\{\\([ibus])1\})(\s*)$", before)) and _left_open(inner, tag) < 0:
        before, inner = before[: tag.start()], tag.group() + inner
    while (tag := re.match(r"\s*(?:</(\w+)>|\{\\([ibus])0\})", after)) and _left_open(inner, tag) > 0:
        inner, after = inner + tag.group(), after[tag.end() :]
    return before, normalise(inner), after


def _left_open(text: str, tag: re.Match[str]) -> int:
    """Tags of a kind that a text opens, less those that it closes."""
    if tag[1]:
        return len(re.findall(rf"<{tag[1]}\b", text)) - text.count(f"</{tag[1]}>")
    return text.count(f"{{\\{tag[2]}1}}") - text.count(f"{{\\{tag[2]}0}}")


def passages_of(turns: Sequence[Turn], cues: Sequence[Cue], language: str) -> list[Passage]:
    """Turns joined where a sentence continues in the next cue."""
    passages: list[Passage] = []
    group: list[Turn] = []
    known = load_language(language) if language in languages() else None
    for turn in turns:
        if group and not _continues(group, turn, cues, known):
            passages.append(_passage(group, language))
            group = []
        group.append(turn)
    if group:
        passages.append(_passage(group, language))
    return passages


def _continues(group: Sequence[Turn], turn: Turn, cues: Sequence[Cue], language: Language | None) -> bool:
    last = group[-1]
    pause = cues[turn.cue].start - cues[last.cue].end
    sung = any(sign in turn.before + last.after for sign in _MUSIC)
    speaks_anew = turn.cue == last.cue or sung or _ENDS_IN_DASH.search(turn.before) is not None
    speaks_anew = speaks_anew or turn.before.startswith("<v ") or _STANDS_ALONE.match(last.text) is not None
    speaks_anew = speaks_anew or _begins_anew(last.text, turn.text, language)
    return not (
        speaks_anew
        or pause > _PAUSE
        or len(group) >= _LONGEST
        or not last.text
        or _ENDS.search(last.text)
        or not turn.text
    )


def _begins_anew(before: str, after: str, language: Language | None) -> bool:
    """True if a cue looks like the beginning of a sentence, and the one before it not like half of one."""
    if _LABEL.match(after) or _STANDS_ALONE.match(after):
        return True
    starts_low = after[:1].islower() or not after[:1].isalpha()
    if starts_low or before.endswith((",", "-", "–", "—", "...", "…")):
        return False
    last, first = before.rsplit(" ", 1)[-1], after.split(" ", 1)[0]
    if not last.islower():
        return True
    if language is None or first in language.capital_words or last in language.leading_words:
        return False
    # A word that has a capital only where a sentence begins, or that is called out: "Mom, where are you?"
    return first.lower() in (*language.common_words, *language.leading_words) or bool(_INTERJECTION.match(after))


def _passage(group: Sequence[Turn], language: str) -> Passage:
    text = " ".join(turn.text for turn in group)
    return Passage(tuple(group), tuple(sentences(text, language)) or ("",))
