"""What survives translation: python experiments/robustness.py [--model FOLDER] [--before FOLDER] [--quick] [-o FILE]

    python experiments/robustness.py                         # the bundled model, with and without protection
    python experiments/robustness.py --before OLD/model      # against another model without protection

1. 1,000 generated segments with known spans and numbers, made here and not with the patterns that protect them.
2. 500 real lines of the manuals and chat development sets that hold spans or figures (FENSTER_DATA).
3. BLEU on development sets and 4. the time of both, taking turns in one run.

A span survives if it comes out byte for byte exactly once; a number if its digits come out in a German notation.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import sacrebleu
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.language import load_language
from fenster.language.numbers import NumberConverter
from fenster.language.protect import Protector

Segment = tuple[str, list[str], list[tuple[str, ...]]]
"""A text, its spans, and the acceptable forms of each of its numbers."""
NAMES = ["anna.mueller", "j_smith", "support", "o'neil", "x+y", "kim-lee"]
HOSTS = ["example.com", "mail.acme.co.uk", "tu-berlin.de", "a-b.io"]
SPANS: dict[str, list[str]] = {
    "template": ["{name}", "%s", "${total}", "%(user)s", "{0}", "{{ price }}", "%1$s"],
    "tag": ["<b>", "</a>", '<a href="x.html">', "<br/>"],
    "code": ["`ls -la`", "`x = y + 1`", "``a``"],
    "path": ["/etc/hosts", "C:\\Temp\\a b.txt", "~/notes.md", "src/main.py", "report.docx"],
    "mention": ["@anna", "@acme_support", "#release", "#Sommer2024"],
    "version": ["v2.13.0", "3.11.4", "1.0.0-rc2"],
    "part": ["AB-1234/X", "ISO-9001", "RX580", "DE-4711"],
}
SENTENCES = [
    "Please send it to {} before Monday.",
    "You will find {} in the list below.",
    "I do not understand why {} is missing.",
    "The report mentions {} twice, and nobody knows why.",
    "If {} does not work, call us.",
    "She wrote {} on the wall.",
]
AMOUNTS = [
    "The company paid {} last year.",
    "It rose to {} in the second half.",
    "About {} were sold, more than ever.",
    "They expect {} by the end of the year.",
]
TIMES = ["The train leaves at {}.", "Let us meet at {} in front of the station."]


def generated(count: int) -> list[Segment]:
    """(segment, spans, acceptable forms of each number)"""
    rng = random.Random(5)
    made: list[Segment] = []
    for _ in range(count):
        kind = rng.choice([*SPANS, "email", "url", "iban", "telephone", "number", "number", "number", "time"])
        if kind == "number":
            shown, forms = number(rng)
            made.append((rng.choice(AMOUNTS).format(shown), [], [forms]))
        elif kind == "time":
            hour, minute, half = rng.randint(1, 12), rng.randint(0, 59), rng.choice(["am", "pm"])
            late = hour % 12 + (12 if half == "pm" else 0)
            forms = (f"{late}:{minute:02d}", f"{late:02d}:{minute:02d}", f"{late}.{minute:02d}")
            made.append((rng.choice(TIMES).format(f"{hour}:{minute:02d} {half}"), [], [forms]))
        else:
            spans = [span(kind, rng) for _ in range(rng.choice([1, 1, 2]))]
            if len(spans) == 2 and spans[0] == spans[1]:
                spans.pop()
            made.append((rng.choice(SENTENCES).format(" and ".join(spans)), spans, []))
    return made


def span(kind: str, rng: random.Random) -> str:
    if kind == "email":
        return f"{rng.choice(NAMES)}@{rng.choice(HOSTS)}"
    if kind == "url":
        return f"https://www.{rng.choice(HOSTS)}/path/{rng.randint(1, 999)}?query={rng.randint(1, 9)}&lang=en#top"
    if kind == "iban":
        groups = " ".join(f"{rng.randint(0, 9999):04d}" for _ in range(4))
        return f"DE{rng.randint(10, 99)} {groups} {rng.randint(10, 99)}"
    if kind == "telephone":
        return f"+49 {rng.randint(30, 999)} {rng.randint(100000, 9999999)}"
    return rng.choice(SPANS[kind])


def number(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    kind = rng.choice(["grouped", "decimal", "percent", "euro", "dollar"])
    whole, cents = rng.randint(1000, 9_999_999), rng.randint(10, 99)
    english, german = f"{whole:,}", f"{whole:,}".replace(",", ".")
    if kind == "grouped":
        return f"{english} people", (german, german.replace(".", " "), german.replace(".", "\u00a0"), str(whole))
    if kind == "decimal":
        small = rng.randint(0, 999)
        return f"{small}.{cents} points", (f"{small},{cents}",)
    if kind == "percent":
        return f"{cents}%", (f"{cents} %", f"{cents}%", f"{cents} Prozent", f"{cents}-prozentig")
    amounts = (f"{german},{cents}", f"{whole},{cents}")
    return (f"€{english}.{cents}" if kind == "euro" else f"${english}.{cents}"), amounts


def alone(text: str, output: str) -> int:
    """How often a number occurs that is not part of a longer one."""
    return len(re.findall(rf"(?<![\d.,−-]){re.escape(text)}(?!\d)(?![.,]\d)", output))


def survival(translator: Translator, made: list[Segment]) -> dict[str, Any]:
    outputs = [result.texts[0] for result in translator.translate_all([text for text, _, _ in made])]
    spans = numbers = spans_kept = numbers_kept = 0
    lost: list[dict[str, str]] = []
    for (text, wanted, figures), output in zip(made, outputs, strict=True):
        kept = [output.count(one) == 1 for one in wanted]
        right = [any(alone(form, output) == figures.count(forms) for form in forms) for forms in figures]
        spans, numbers = spans + len(kept), numbers + len(right)
        spans_kept, numbers_kept = spans_kept + sum(kept), numbers_kept + sum(right)
        if not all([*kept, *right]) and len(lost) < 10:
            lost.append({"source": text, "target": output})
    return {"spans": spans, "spans_kept": spans_kept, "numbers": numbers, "numbers_kept": numbers_kept, "lost": lost}


def real(count: int) -> list[Segment]:
    """Lines of development sets with spans or figures; figures without a notation of their own as they stand."""
    languages = load_language("en"), load_language("de")
    spans, numbers = Protector(*languages, numbers="model"), NumberConverter(*languages)
    made = []
    for name in ("manuals", "chat"):
        lines = [text for pair in read_corpus([DATA / name / "en-de.dev.tsv.xz"]) for text in pair.source.texts]
        chosen = []
        for text in dict.fromkeys(lines):
            found = [text[one.span.start : one.span.end] for one in spans.spans(text)]
            figures = [forms for _, forms, _ in numbers.find(text)]
            once = [one for one, times in Counter(found).items() if times == 1 and text.count(one) == 1]
            if once or figures:
                chosen.append((text, once, figures))
        random.Random(5).shuffle(chosen)
        made += chosen[: count // 2]
    return made


def bleu(translator: Translator, documents: list[Any]) -> float:
    outputs = [
        text for result in translator.translate_all([pair.source for pair in documents]) for text in result.texts
    ]
    references = [text for pair in documents for text in pair.target.texts]
    return float(sacrebleu.corpus_bleu(outputs, [references]).score)


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--before", type=Path, help="the model without protection; the same one if left out")
    options_parser.add_argument("--no-bleu", action="store_true", help="only what survives")
    options_parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    options = options_parser.parse_args()
    share = 10 if options.quick else 1
    plain = DecodeConfig(beam=options.beam, protection=False, guards=False, numbers="model", assume_language=True)
    systems = {
        "before": Translator.load(options.before or options.model, plain),
        "after": Translator.load(options.model, DecodeConfig(beam=options.beam)),
    }
    result: dict[str, Any] = {"beam": options.beam, "systems": {}}
    sets = {"generated": generated(1000 // share), "real": real(500 // share)}
    for name, translator in systems.items():
        result["systems"][name] = {key: survival(translator, made) for key, made in sets.items()}
        for key, counts in result["systems"][name].items():
            print(
                f"{name:7} {key:10} spans {counts['spans_kept']} of {counts['spans']}, "
                f"numbers {counts['numbers_kept']} of {counts['numbers']}",
                flush=True,
            )
    if options.before is None and not options.no_bleu:
        for name in ("europarl", "manuals", "chat", "everyday", "stories", "novels"):
            documents = list(read_corpus([DATA / name / "en-de.dev.tsv.xz"]))
            documents = documents[: max(3, len(documents) // (8 * share))]
            scores, seconds = {}, {}
            for way, translator in systems.items():
                began = time.process_time()
                scores[way] = bleu(translator, documents)
                seconds[way] = time.process_time() - began
            result.setdefault("bleu", {})[name] = scores
            result.setdefault("cpu_seconds", {})[name] = seconds
            print(
                f"{name:10} BLEU {scores['before']:.2f} -> {scores['after']:.2f}, "
                f"time x {seconds['after'] / seconds['before']:.3f}",
                flush=True,
            )
    write(result, options.output)


if __name__ == "__main__":
    main()
