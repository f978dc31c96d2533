"""Subtitles of real talks, cues joined against cues alone: python experiments/subtitles.py [--talks N] [-o FILE]

Talks of the TED development set as .srt files: sentences cut into cues of at most two lines of 42 characters, shown
at 15 characters per second (the words are real, the times are not).

`joined` is what `fenster translate talk.srt` does;
`alone` translates each cue as a document of its own, as programs do that know only text runs. BLEU of whole talks
against the references, and the share of cues that are read at more than 17 characters per second.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import sacrebleu
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions, document_format
from fenster.decode.files.subtitles import LINE, SPEED
from fenster.decode.translator import Translator
from fenster.document import Document, Segment
from fenster.io.files import FileSource

_CUE = re.compile(r"\d+\n(\S+) --> (\S+)\n(.*?)\n\n", re.DOTALL)


def subtitles(texts: list[str]) -> str:
    made, at, number = "", 0.0, 0
    for text in texts:
        for cue in textwrap.wrap(text, 2 * LINE - 8):
            number += 1
            end = at + max(1.0, len(cue) / 15)
            made += f"{number}\n{clock(at)} --> {clock(end)}\n" + "\n".join(textwrap.wrap(cue, LINE)) + "\n\n"
            at = end + 0.1
        at += 0.3
    return made


def clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{int(seconds % 1 * 1000):03d}"


def seconds(shown: str) -> float:
    hours, minutes, rest = shown.replace(",", ".").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def cues(text: str) -> list[tuple[float, str]]:
    """(duration, words) of each cue."""
    return [(seconds(end) - seconds(start), " ".join(words.split())) for start, end, words in _CUE.findall(text)]


def joined(translator: Translator, text: str) -> list[str]:
    parsed = document_format("subtitles").parse(FileSource(text.encode(), Path("talk.srt")), FileOptions())
    document = Document("talk", tuple(Segment(one.text, marks=one.marks) for one in parsed.segments))
    pieces = parsed.render(translator.stream(document))
    return [words for _, words in cues("".join(map(str, pieces)))]


def alone(translator: Translator, text: str) -> list[str]:
    return [one.texts[0] for one in translator.translate_all([words] for _, words in cues(text))]


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--talks", type=int, default=8)
    options = options_parser.parse_args()
    translator = Translator.load(options.model, DecodeConfig(beam=options.beam))
    talks = sorted(read_corpus([DATA / "ted" / "en-de.dev.tsv.xz"]), key=len)[: options.talks]
    result: dict[str, Any] = {"talks": [talk.id for talk in talks], "beam": options.beam}
    for name, translate in (("alone", alone), ("joined", joined)):
        hypotheses, fast, total = [], 0, 0
        for talk in talks:
            text = subtitles(talk.source.texts)
            spoken = translate(translator, text)
            durations = [duration for duration, _ in cues(text)]
            assert len(spoken) == len(durations), "one cue for each"
            fast += sum(len(words) / duration > SPEED for words, duration in zip(spoken, durations, strict=True))
            total += len(spoken)
            hypotheses.append(" ".join(spoken))
        references = [" ".join(talk.target.texts) for talk in talks]
        bleu = sacrebleu.corpus_bleu(hypotheses, [references]).score
        result[name] = {"document BLEU": bleu, "cues": total, "fast": fast}
        print(f"{name:7} document BLEU {bleu:.1f}, {fast} of {total} cues above {SPEED:.0f} characters per second")
    write(result, options.output)


if __name__ == "__main__":
    main()
