"""Names that the training data does not have, and first names with surnames: how many come through as they are, with
and without the lexicon, and with and without the rule for people.

    python experiments/names.py -o results/names.json

Of two development sets (news, talks) the sentences that have such names, each translated alone. A name counts if the
reference has it as well; the others, which the reference writes differently, are counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sacrebleu import corpus_bleu
from script import DATA, parser, write

from fenster.data.corpora.stream import stream
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.language import load_language
from fenster.language.names import is_copied
from fenster.language.people import People
from fenster.model.compiled.model_folder import load_compiled

SETS = {"newstest2015": "news/newstest2015.en-de.tsv.xz", "TED": "ted/en-de.dev.tsv.xz"}
MOST = 1_000  # sentences of a set


Pairs = list[tuple[str, str]]
Names = Callable[[str], Sequence[str]]


def main() -> None:
    given = parser(__doc__).parse_args()
    loaded = load_compiled(given.model)
    lexicon, english = loaded.lexicon, load_language("en")
    assert lexicon is not None, "this model has no lexicon"
    config = DecodeConfig(beam=given.beam, batch_size=32)
    without_lexicon = Translator(replace(loaded, lexicon=None), config)
    without_people, whole = Translator(loaded, config), Translator(loaded, config)
    without_people.planner.reader._people = None
    rules: dict[str, tuple[Names, Translator]] = {
        "lexicon": (lambda text: lexicon.names(text, english), without_lexicon),
        "people": (People(english).names, without_people),
    }
    rows = []
    for name, path in SETS.items():
        pairs = [
            pair
            for document in stream(name, [DATA / path])
            for pair in zip(document.source.texts, document.target.texts, strict=True)
        ]
        for rule, (names, without) in rules.items():
            chosen = [pair for pair in pairs if names(pair[0])][:MOST]
            for translator in (without, whole):
                row = measured(translator, chosen, names)
                rows.append({"set": name, "rule": rule, "applied": translator is whole, **row})
                print(rows[-1], flush=True)
    write({"rows": rows}, given.output)


def measured(translator: Translator, pairs: Pairs, names: Names) -> dict[str, Any]:
    texts = [one.texts[0] for one in translator.translate_all([[source] for source, _ in pairs])]
    counts = {"kept": 0, "of": 0, "elsewhere_kept": 0, "elsewhere_of": 0}
    for (source, reference), text in zip(pairs, texts, strict=True):
        for word in names(source):
            where = "" if is_copied(word, reference) else "elsewhere_"
            counts[where + "of"] += 1
            counts[where + "kept"] += is_copied(word, text)
    bleu = corpus_bleu(texts, [[reference for _, reference in pairs]]).score
    return {"sentences": len(pairs), **counts, "BLEU": bleu}


if __name__ == "__main__":
    main()
