"""Subtitles: .srt, .vtt and .ass. Sentences that run over several cues are joined, translated in the context of all
others, and split again over the same cues. Only the words change: times, numbers, positions, styles and notes stay as
they are, byte for byte.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fenster.data.sentence_split import sentences
from fenster.data.text import normalise
from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.cue_split import split_text, wrapped
from fenster.decode.result import Translated
from fenster.errors import InputError, counted
from fenster.io.files import FileSource
from fenster.language import languages, load_language

LINE = 42  # characters of a line, and two lines per cue: what broadcasters ask for
SPEED = 17.0  # characters per second that can be read with ease
_PAUSE = 2000  # milliseconds after which a sentence is not continued
_LONGEST = 4  # cues of a sentence

_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,:](\d{1,3})"
_TIMES = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}")
_DIALOGUE = re.compile(rf"Dialogue:[^,]*,\s*{_CLOCK}\s*,\s*{_CLOCK}\s*(?:,[^,]*){{6}},")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9]")
_MARKUP = r"(?:<[^<>]*>|\{\\[^{}]*\})"
_AROUND = re.compile(rf"((?:{_MARKUP}|[♪#]|\s)*)(.*?)((?:{_MARKUP}|[♪#]|\s)*)$", re.DOTALL)
_DASH = re.compile(rf"((?:{_MARKUP})*[-–—‐]\s*(?:{_MARKUP})*)(?=\S)")
_AGAIN = re.compile(r"</(\w+)>\s+<\1>|\{\\([ibus])0\}\s+\{\\(?:\2)1\}")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|lrm|rlm|#0*38|#0*60|#0*62);)#?\w+;")
_ENDS_IN_DASH = re.compile(r"[-–—‐]\s*$")
_STANDS_ALONE = re.compile(r"[\[(][^\])]*[\])]$|[^a-z]*[A-Z][^a-z]*$")  # a sound, a title
_LABEL = re.compile(r"[A-Z][A-Z .'-]+:")
_ENDS = re.compile(rf"[.!?…:;]['\"”’»)\]]*(?:{_MARKUP})*$")


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


@dataclass
class SubtitleDocument(ParsedFile):
    lines: list[str]
    """With their ends."""
    cues: list[Cue]
    passages: list[Passage]
    line_break: str
    start: str
    """A byte order mark, if the file has one."""
    leading: frozenset[str]
    """Words of the target language that belong to what follows them."""
    fast: list[int] = field(default_factory=list)
    long: list[int] = field(default_factory=list)

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:  # type: ignore[override]
        return [
            [
                FileSegment(text, self.cues[passage.turns[0].cue].line + 1)
                for passage in self.passages
                for text in passage.segments
            ]
        ]

    def render(self, translated: Iterator[Translated]) -> Iterator[str]:
        spoken: dict[int, list[tuple[str, str, str]]] = {}
        changed: set[int] = set()
        for passage in self.passages:
            texts = [next(translated).text for _ in passage.segments]
            changed |= {turn.cue for turn in passage.turns if texts != list(passage.segments)}
            for turn, words in zip(passage.turns, _spread(passage, texts, self.leading), strict=True):
                spoken.setdefault(turn.cue, []).append((turn.before, words, turn.after))
        at = 0
        yield self.start
        for number, cue in enumerate(self.cues):
            yield "".join(self.lines[at : cue.line])
            at = cue.line + cue.count
            if number not in changed:
                yield "".join(self.lines[cue.line : at])
                continue
            yield self._words(cue, spoken[number])
        yield "".join(self.lines[at:])

    def _words(self, cue: Cue, turns: list[tuple[str, str, str]]) -> str:
        """The words of a cue, in lines as they are shown."""
        end = re.search(r"\r?\n?$", self.lines[cue.line + cue.count - 1])
        assert end is not None  # it may be empty
        shown = ["".join(turn) for turn in turns]
        if len(turns) == 1:
            before, words, after = turns[0]
            whole = re.sub(_MARKUP, lambda mark: mark.group().replace(" ", "\0"), words)  # never cut inside it
            first, *others = [line.replace("\0", " ") for line in wrapped(whole, LINE, self.leading)]
            shown = [before + first, *others]
            shown[-1] += after
        bare = [re.sub(_MARKUP, "", line) for line in shown]
        seconds = max(1, cue.end - cue.start) / 1000
        if sum(map(len, bare)) / seconds > SPEED:
            self.fast.append(cue.line + 1)
        if len(shown) > 2 or any(len(line) > LINE for line in bare):
            self.long.append(cue.line + 1)
        return cue.head + self.line_break.join(shown) + end.group()

    def remarks(self) -> list[str]:
        said = []
        if self.fast:
            said.append(
                f"{counted(len(self.fast), 'cue is', 'cues are')} read at more than {SPEED:.0f} characters per second"
            )
        if self.long:
            said.append(
                f"{counted(len(self.long), 'cue takes', 'cues take')} more than two lines of {LINE} characters"
            )
        return said


class SubtitleFormat(DocumentFormat):
    suffixes = (".srt", ".vtt", ".ass", ".ssa")
    about = "subtitles: sentences over several cues are translated as one; only the words change"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> SubtitleDocument:
        ends = source.line_ends()
        lines = [text + end for (_, text), end in zip(source.lines(), ends, strict=True)]
        if lines and not source.data.endswith(b"\n"):
            lines[-1] = lines[-1].rstrip("\r\n")
        styled = any(_DIALOGUE.match(line) for line in lines) and not any(_TIMES.match(line) for line in lines)
        cues = _styled_cues(lines) if styled else _timed_cues(lines)
        if not cues and any(line.strip() for line in lines) and not (styled or lines[0].startswith(("WEBVTT", "["))):
            raise InputError(
                "no cue", path=source.path, expected="subtitles, with times such as 00:00:01,000 --> 00:00:03,500"
            )
        line_break = "\\N" if styled else (ends[0] if ends else "\n")
        turns = [turn for number, cue in enumerate(cues) for turn in _turns(number, cue, lines, styled)]
        leading = load_language(options.target).leading_words if options.target in languages() else ()
        passages = _passages(turns, cues, options.language)
        return SubtitleDocument(lines, cues, passages, line_break, source.bom, frozenset(leading))


def _timed_cues(lines: list[str]) -> list[Cue]:
    """Cues of .srt and .vtt: words from the line after the times to the next blank line."""
    cues = []
    for number, line in enumerate(lines):
        times = _TIMES.match(line)
        if times is None:
            continue
        first = number + 1
        last = first
        while last < len(lines) and lines[last].strip() and not _TIMES.match(lines[last]):
            last += 1
        if last < len(lines) and _TIMES.match(lines[last]) and lines[last - 1].strip().isdigit():
            last -= 1  # no blank line before the next number
        if last > first:
            cues.append(Cue(first, last - first, *_milliseconds(times)))
    return cues


def _styled_cues(lines: list[str]) -> list[Cue]:
    """Cues of .ass: the last field of a line."""
    cues = []
    for number, line in enumerate(lines):
        dialogue = _DIALOGUE.match(line)
        words = "" if dialogue is None else line[dialogue.end() :].strip()
        if dialogue is not None and words and not _DRAWING.search(words):
            cues.append(Cue(number, 1, *_milliseconds(dialogue), head=dialogue.group()))
    return cues


def _milliseconds(times: re.Match[str]) -> tuple[int, int]:
    def clock(hours: str | None, minutes: str, seconds: str, fraction: str) -> int:
        whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
        return whole * 1000 + int(fraction.ljust(3, "0"))

    groups = times.groups()
    return clock(*groups[:4]), clock(*groups[4:8])


def _turns(number: int, cue: Cue, lines: list[str], styled: bool) -> list[Turn]:
    """The words of a cue by speaker: lines that begin with a dash are turns of their own."""
    if styled:
        words = lines[cue.line].rstrip("\r\n")[len(cue.head) :].replace("\\h", " ")
        rows = re.split(r"\\[Nn]", words)
    else:
        rows = [line.rstrip("\r\n") for line in lines[cue.line : cue.line + cue.count]]
        rows = [_ENTITY.sub(lambda entity: html.unescape(entity.group()), row) for row in rows]
    turns: list[list[str]] = [[]]
    for row in rows:
        if turns[-1] and _DASH.match(row):
            turns.append([])
        turns[-1].append(row.strip())
    return [_turn(number, " ".join(turn)) for turn in turns]


def _turn(cue: int, text: str) -> Turn:
    text = _AGAIN.sub(" ", text)  # every line of a cue may have its own tags
    around = _AROUND.match(text)
    assert around is not None  # every part may be empty
    before, inner, after = around.groups()
    dash = _DASH.match(inner)
    if dash is not None:
        before, inner = before + dash.group(), inner[dash.end() :]
    return Turn(cue, *_balanced(before, inner, after))


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


def _passages(turns: Sequence[Turn], cues: Sequence[Cue], language: str) -> list[Passage]:
    """Turns joined where a sentence continues in the next cue."""
    passages: list[Passage] = []
    group: list[Turn] = []
    for turn in turns:
        if group and not _continues(group, turn, cues):
            passages.append(_passage(group, language))
            group = []
        group.append(turn)
    if group:
        passages.append(_passage(group, language))
    return passages


def _continues(group: Sequence[Turn], turn: Turn, cues: Sequence[Cue]) -> bool:
    last = group[-1]
    pause = cues[turn.cue].start - cues[last.cue].end
    speaks_anew = (
        turn.cue == last.cue or _ENDS_IN_DASH.search(turn.before) is not None or "♪" in turn.before + last.after
    )
    speaks_anew = speaks_anew or _STANDS_ALONE.match(last.text) is not None or _begins_anew(last.text, turn.text)
    return not (
        speaks_anew
        or pause > _PAUSE
        or len(group) >= _LONGEST
        or not last.text
        or _ENDS.search(last.text)
        or not turn.text
    )


def _begins_anew(before: str, after: str) -> bool:
    """True if a cue looks like the beginning of a sentence, and the one before it not like half of one."""
    if _LABEL.match(after) or _STANDS_ALONE.match(after):
        return True
    starts_low = after[:1].islower() or not after[:1].isalpha() or re.match(r"I\b", after) is not None
    return not (
        starts_low or before.endswith((",", "-", "–", "—", "...", "…")) or before.rsplit(" ", 1)[-1].islower()
    )


def _passage(group: Sequence[Turn], language: str) -> Passage:
    text = " ".join(turn.text for turn in group)
    return Passage(tuple(group), tuple(sentences(text, language)) or ("",))


def _spread(passage: Passage, texts: Sequence[str], leading: frozenset[str]) -> list[str]:
    """The translated sentences of a passage as the words of each of its turns, cut where the source is cut."""
    if len(passage.turns) == 1:
        return [" ".join(texts)]
    ends: list[int] = []  # of the turns, in characters of the joined source
    for turn in passage.turns:
        ends.append((ends[-1] + 1 if ends else 0) + len(turn.text))
    words: list[list[str]] = [[] for _ in passage.turns]
    begin = 0
    for source, text in zip(passage.segments, texts, strict=True):
        end = begin + len(source)
        over = [
            number for number, stop in enumerate(ends) if stop > begin and (ends[number - 1] if number else 0) < end
        ]
        over = over or [len(ends) - 1]
        shares = [min(ends[number], end) - max(ends[number - 1] if number else 0, begin) for number in over]
        for number, part in zip(over, split_text(text, shares, leading), strict=True):
            words[number].append(part)
        begin = end + 1
    return [" ".join(filter(None, parts)) for parts in words]
