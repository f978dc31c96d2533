"""Does inline markup go where its words went? python experiments/markup.py [--model FOLDER] [-o FILE]

200 sentences of the development sets with a name that source and reference share: the name is marked in the source,
alone and with the word before it, and what the marks enclose in the translation is compared with the name. exact: the
name, or with the word before it if that was marked too; overlapping: the name and more, or part of it; lost:
something else.

And 200 sentences of spans.tsv, written for this, in which other words are marked and their translations are known (as
regular expressions). exact: the marks enclose just such a translation, an article aside.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.document import Document, Mark, Segment

SETS = ("europarl", "novels", "stories", "manuals")


def sentences(count: int) -> list[tuple[str, str]]:
    """(sentence, name) of all sets in equal shares."""
    made = []
    for name in SETS:
        chosen = []
        for pair in read_corpus([DATA / name / "en-de.dev.tsv.xz"]):
            for source, target in zip(pair.source.texts, pair.target.texts, strict=True):
                names = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", source)
                shared = [one for one in names if source.count(one) == 1 and re.search(rf"\b{one}\b", target)]
                if shared and len(source) < 200:
                    chosen.append((source, shared[0]))
        step = max(1, len(chosen) // (count // len(SETS)))
        made += chosen[::step][: count // len(SETS)]
    return made


def marked(text: str, start: int, end: int) -> Segment:
    whole = f"{text[:start]}<b>{text[start:end]}</b>{text[end:]}"
    return Segment(whole, marks=(Mark(start, start + 3, 1, True), Mark(end + 3, end + 7, 1, False)))


def known_spans(translator: Translator) -> dict[str, int]:
    """How the marks of spans.tsv fare."""
    lines = Path(__file__).with_name("spans.tsv").read_text(encoding="utf-8").splitlines()
    given = [tuple(line.split("\t")) for line in lines]
    documents = []
    for text, _ in given:
        start, end = text.index("["), text.index("]") - 1
        documents.append(Document("", (marked(text.replace("[", "").replace("]", ""), start, end),)))
    counts: Counter[str] = Counter()
    for (text, wanted), translation in zip(given, translator.translate_all(documents), strict=True):
        (output,) = translation.texts
        inside = re.search(r"<b>(.*?)</b>", output)
        assert inside is not None and output.count("<b>") == output.count("</b>") == 1, output
        enclosed = re.sub(
            r"^(?:der|die|das|den|dem|des|ein|eine[nmrs]?|mein|meine[nmrs]?|ihre?[nmrs]?) ", "", inside[1], flags=re.I
        )
        kind = "exact" if re.fullmatch(wanted, enclosed.strip(".,;:!? "), re.I) else "overlapping"
        if kind != "exact":
            known = re.search(wanted, re.sub(r"</?b>", "", output), re.I)
            if known is None:
                kind = "translated otherwise"
            elif not set(re.findall(r"\w+", known[0].lower())) & set(re.findall(r"\w+", inside[1].lower())):
                kind = "lost"
            print(f"{kind}: {text} -> {output}", flush=True)
        counts[kind] += 1
    return dict(counts)


def main() -> None:
    options_parser = parser(__doc__)
    options = options_parser.parse_args()
    translator = Translator.load(options.model, DecodeConfig(beam=options.beam))
    given = sentences(200)
    result: dict[str, dict[str, int]] = {}
    for kind in ("name", "word and name"):
        documents = []
        for text, name in given:
            start = text.index(name)
            if kind == "word and name":
                start = text.rfind(" ", 0, start - 1) + 1
            documents.append(Document("", (marked(text, start, text.index(name) + len(name)),)))
        counts: Counter[str] = Counter()
        for (_, name), translation in zip(given, translator.translate_all(documents), strict=True):
            (output,) = translation.texts
            inside = re.search(r"<b>(.*?)</b>", output)
            assert inside is not None and output.count("<b>") == output.count("</b>") == 1, output
            words = inside.group(1).strip(".,;:!?").split(" ")
            if name not in output:
                counts["not in the translation"] += 1
            elif inside.group(1).strip(",.;:!?'’s") == name if kind == "name" else name in words and len(words) <= 2:
                counts["exact"] += 1
            else:
                counts["overlapping" if name in inside.group(1) else "lost"] += 1
        result[kind] = dict(counts)
        print(f"{kind}: {', '.join(f'{key} {count}' for key, count in counts.most_common())}", flush=True)
    result["other words"] = known_spans(translator)
    print(f"other words: {result['other words']}", flush=True)
    write(result, options.output)


if __name__ == "__main__":
    main()
