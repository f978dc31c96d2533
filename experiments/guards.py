"""How often the guards speak: python experiments/guards.py [--model FOLDER] [-o FILE]

1. Sentences of eight development sets whose source is taken for another language (false alarms), and translations
that are recognised as German. 2. At most 40 sentences of six sets, each alone: those whose translation the model
itself finds unlikely (`unsure`). 3. The share of source tokens that those translations do not look at, against halves
of them and against translations of other sentences (`coverage`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.cross_attention import cross_attention
from fenster.decode.guards import missed
from fenster.decode.result import Translated
from fenster.decode.translator import Translator
from fenster.language.identify import LanguageCheck

LANGUAGE_SETS = ("manuals", "chat", "everyday", "novels", "europarl", "stories", "suttas", "ted")
UNSURE_SETS = LANGUAGE_SETS[:6]


def coverage(translator: Translator, segments: list[Translated]) -> dict[str, list[float]]:
    """Shares of source tokens that nothing looks at; sentences of eight tokens or more."""
    chosen = [one for one in segments if len(one.ids) >= 8]
    sources = [translator.planner.plan(one.source).pieces[0].source for one in chosen]
    targets = [np.array(one.ids) for one in chosen]
    wanted = {
        "whole": targets,
        "half": [target[: len(target) // 2] for target in targets],
        "of another sentence": [*targets[1:], *targets[:1]],
    }
    return {
        kind: [missed(cross_attention(translator.loaded, *pair)) for pair in zip(sources, these, strict=True)]
        for kind, these in wanted.items()
    }


def main() -> None:
    options = parser(__doc__).parse_args()
    check = LanguageCheck("en", "de")
    translator = Translator.load(options.model, DecodeConfig(beam=options.beam, guards=False))
    result: dict[str, dict[str, Any]] = {"language": {}, "unsure": {}}
    shares: dict[str, list[float]] = {"whole": [], "half": [], "of another sentence": []}
    for name in LANGUAGE_SETS:
        documents = list(read_corpus([DATA / name / "en-de.dev.tsv.xz"]))
        pairs = [pair for one in documents for pair in zip(one.source.texts, one.target.texts, strict=True)]
        alarms = [source for source, _ in pairs if check.other(source)]
        german = sum(check.other(target) == "de" for _, target in pairs)
        result["language"][name] = {"sentences": len(pairs), "false alarms": alarms, "german recognised": german}
        print(
            f"{name}: {len(alarms)} false alarms in {len(pairs)}, {german / len(pairs):.1%} of the German recognised"
        )
        if name in UNSURE_SETS:
            chosen = [[source] for source, _ in pairs[::40]][:40]
            segments = [one.segments[0] for one in translator.translate_all(chosen)]
            unsure = [[one.source, one.text, one.score] for one in segments if "unsure" in one.warnings]
            result["unsure"][name] = {"sentences": len(segments), "unsure": unsure}
            print(f"{name}: {len(unsure)} of {len(segments)} unsure", flush=True)
            for kind, found in coverage(translator, segments).items():
                shares[kind] += found
    for kind, found in shares.items():
        result.setdefault("coverage", {})[kind] = {"sentences": len(found), "missed": found}
        centiles = " ".join(f"{centile}%: {np.percentile(found, centile):.2f}" for centile in (1, 10, 50, 90, 99))
        print(f"source tokens that a translation misses, {kind}: {centiles}")
    write(result, options.output)


if __name__ == "__main__":
    main()
