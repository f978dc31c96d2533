"""Register control on development sets: python experiments/register.py [--model FOLDER] [-o FILE]

Of the sentences whose reference addresses somebody: the share of forms of address in the register that was asked for,
each sentence alone and in its document; BLEU with the reference's own register against no register at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sacrebleu
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.document import Document, Segment
from fenster.language import REGISTERS, Register, load_language
from fenster.language.register import RegisterCounter

SETS = ("chat", "everyday", "stories", "novels", "manuals", "dialogue")
COUNTER = RegisterCounter(load_language("en"), load_language("de"))


def share(sources: list[str], targets: list[str], wanted: Register) -> dict[str, int]:
    counts = [COUNTER.counts(source, target) for source, target in zip(sources, targets, strict=True)]
    right = sum(one[wanted] for one in counts)
    return {"right": right, "forms": sum(sum(one.values()) for one in counts)}


def measure(translator: Translator, name: str, most: int) -> dict[str, Any]:
    documents = list(read_corpus([DATA / name / "en-de.dev.tsv.xz"]))
    pairs = [pair for one in documents for pair in zip(one.source.texts, one.target.texts, strict=True)]
    addressed = [(s, t, COUNTER.register(s, t)) for s, t in pairs]
    chosen = [(s, t, r) for s, t, r in addressed if r is not None][:most]
    sources, references = [s for s, _, _ in chosen], [t for _, t, _ in chosen]
    result: dict[str, Any] = {"sentences": len(chosen)}

    def alone(registers: Sequence[str]) -> list[str]:
        given = [Document("", (Segment(s, register=r),)) for s, r in zip(sources, registers, strict=True)]
        return [one.texts[0] for one in translator.translate_all(given)]

    for register in REGISTERS:
        result[register] = share(sources, alone([register] * len(sources)), register)
    oracle, auto = alone([r for _, _, r in chosen]), alone([""] * len(sources))
    result["bleu"] = {
        "auto": sacrebleu.corpus_bleu(auto, [references]).score,
        "register of the reference": sacrebleu.corpus_bleu(oracle, [references]).score,
    }
    # Whole documents in one register.
    whole = [one for one in documents if len(one) > 3][: max(3, most // 40)]
    for register in REGISTERS if whole else ():
        right = forms = 0
        for one in whole:
            counts = share(one.source.texts, translator.translate(one.source, register=register).texts, register)
            right, forms = right + counts["right"], forms + counts["forms"]
        result[f"{register}, documents"] = {"right": right, "forms": forms}
    return result


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--most", type=int, default=300, help="sentences per set")
    options = options_parser.parse_args()
    translator = Translator.load(options.model, DecodeConfig(beam=options.beam))
    results = {}
    for name in SETS:
        results[name] = one = measure(translator, name, options.most)
        shares = ", ".join(
            f"{key} {100 * value['right'] / max(1, value['forms']):.1f} % of {value['forms']}"
            for key, value in one.items()
            if isinstance(value, dict) and "forms" in value
        )
        bleu = ", ".join(f"{key} {score:.1f}" for key, score in one["bleu"].items())
        print(f"{name:9} {one['sentences']:4} sentences: {shares}; BLEU {bleu}", flush=True)
    write(results, options.output)


if __name__ == "__main__":
    main()
