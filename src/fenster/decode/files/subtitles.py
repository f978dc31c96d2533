"""Subtitles: .srt, .vtt and .ass. Sentences that run over several cues are joined, translated in the context of all
others, and split again over the same cues. Only the words change: times, numbers, positions, styles and notes stay as
they are, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fenster.decode.files.base import DocumentFormat, FileOptions, FileSegment, ParsedFile
from fenster.decode.files.cue_split import split_text, wrapped
from fenster.decode.files.cue_turns import MARKUP, Cue, Passage, passages_of, turns_of
from fenster.decode.result import Translated
from fenster.errors import InputError, counted
from fenster.io.files import FileSource
from fenster.language import languages, load_language

LINE = 42  # characters of a line, and two lines per cue: what broadcasters ask for
SPEED = 17.0  # characters per second that can be read with ease

_CLOCK = r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,:](\d{1,3})"
_TIMES = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}")
_DIALOGUE = re.compile(rf"Dialogue:[^,]*,\s*{_CLOCK}\s*,\s*{_CLOCK}\s*(?:,[^,]*){{6}},")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9]")
_KARAOKE = re.compile(r"\{[^{}]*\\[kK][fo]?\d")  # every syllable has its time
# So has every word; or its reading stands above it.
_WORD_TIMES = re.compile(r"<(?:\d+:)?\d{1,2}:\d{2}\.\d{3}>|<ruby>")


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
    karaoke: int
    """Lines that are left as they are, since their syllables or words have times."""
    fast: list[int] = field(default_factory=list)
    long: list[int] = field(default_factory=list)

    @property
    def documents(self) -> Sequence[Sequence[FileSegment]]:
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
            whole = re.sub(MARKUP, lambda mark: mark.group().replace(" ", "\0"), words)  # never cut inside it
            first, *others = [line.replace("\0", " ") for line in wrapped(whole, LINE, self.leading)]
            shown = [before + first, *others]
            shown[-1] += after
        bare = [re.sub(MARKUP, "", line) for line in shown]
        seconds = max(1, cue.end - cue.start) / 1000
        if sum(map(len, bare)) / seconds > SPEED:
            self.fast.append(cue.line + 1)
        if len(shown) > 2 or any(len(line) > LINE for line in bare):
            self.long.append(cue.line + 1)
        return cue.head + self.line_break.join(shown) + end.group()

    def remarks(self) -> list[str]:
        said = []
        if self.karaoke:
            said.append(f"{counted(self.karaoke, 'line')} of karaoke, or with a time for every word, left unchanged")
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
        turns = [turn for number, cue in enumerate(cues) for turn in turns_of(number, cue, lines, styled)]
        leading = load_language(options.target).leading_words if options.target in languages() else ()
        passages = passages_of(turns, cues, options.language)
        timed = _KARAOKE if styled else _WORD_TIMES
        karaoke = sum(
            line.startswith("Dialogue:" if styled else "") and timed.search(line) is not None for line in lines
        )
        return SubtitleDocument(lines, cues, passages, line_break, source.bom, frozenset(leading), karaoke)


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
        if last > first and not any(map(_WORD_TIMES.search, lines[first:last])):
            cues.append(Cue(first, last - first, *_milliseconds(times)))
    return cues


def _styled_cues(lines: list[str]) -> list[Cue]:
    """Cues of .ass: the last field of a line."""
    cues = []
    for number, line in enumerate(lines):
        dialogue = _DIALOGUE.match(line)
        words = "" if dialogue is None else line[dialogue.end() :].strip()
        if dialogue is not None and words and not _DRAWING.search(words) and not _KARAOKE.search(words):
            cues.append(Cue(number, 1, *_milliseconds(dialogue), head=dialogue.group()))
    return cues


def _milliseconds(times: re.Match[str]) -> tuple[int, int]:
    def clock(hours: str | None, minutes: str, seconds: str, fraction: str) -> int:
        whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
        return whole * 1000 + int(fraction.ljust(3, "0"))

    groups = times.groups()
    return clock(*groups[:4]), clock(*groups[4:8])


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
