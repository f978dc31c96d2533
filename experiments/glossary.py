"""Does a glossary get its terms in, and at what price? python experiments/glossary.py [--model FOLDER] [-o FILE]

Terms are pairs of words that belong together in the references of two development sets (by how often they occur in
the same segments), the German one as its lemma. Sentences whose source has a term and whose reference has its
translation are translated alone, without and with the glossary: how many terms are there, BLEU and chrF, and CPU
seconds.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from pathlib import Path

import sacrebleu
from HanTa.HanoverTagger import HanoverTagger
from script import DATA, parser, write

from fenster.data.corpora import read_corpus
from fenster.decode.config import DecodeConfig
from fenster.decode.glossary import Glossary, read_glossary
from fenster.decode.translator import Translator
from fenster.language import load_language

SETS = ("manuals", "europarl")
FEWEST, DICE = 3, 0.75
SENTENCES = 150  # of each set


def terms(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """German nouns by the English words that they translate."""
    here, there, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    analyser = HanoverTagger("morphmodel_ger.pgz")
    lemma = {word: analyser.analyze(word)[0] for word in {word for _, target in pairs for word in nouns(target)}}
    for source, target in pairs:
        ours = {word.lower() for word in re.findall(r"\b[A-Za-z]{4,}\b", source)}
        theirs = {lemma[word] for word in nouns(target)}
        here.update(ours)
        there.update(theirs)
        both.update((one, other) for one in ours for other in theirs)
    made: dict[str, str] = {}
    for (one, other), count in sorted(both.items(), key=lambda item: (-item[1], item[0])):
        dice = 2 * count / (here[one] + there[other])
        if count >= FEWEST and dice >= DICE and one != other.lower() and one not in made:
            made[one] = other
    return made


def nouns(text: str) -> list[str]:
    """Words with a capital that are not at the start of a sentence."""
    return re.findall(r"(?<=[a-zäöüß,] )[A-ZÄÖÜ][a-zäöüß]{3,}\b", text)


def main() -> None:
    options = parser(__doc__).parse_args()
    english, german = load_language("en"), load_language("de")
    result: dict[str, dict[str, object]] = {}
    for name in SETS:
        documents = read_corpus([DATA / name / "en-de.dev.tsv.xz"])
        pairs = [
            pair
            for document in documents
            for pair in zip(document.source.texts, document.target.texts, strict=True)
            if len(pair[0]) < 250
        ]
        chosen = terms(pairs)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "terms.tsv"
            path.write_text("".join(f"{source}\t{target}\n" for source, target in chosen.items()), encoding="utf-8")
            glossary = read_glossary(path, english, german)
            usable = [pair for pair in pairs if wanted(glossary, *pair)]
            usable = usable[:: max(1, len(usable) // SENTENCES)][:SENTENCES]
            result[name] = {"terms": len(chosen), "sentences": len(usable)}
            for kind, config in {
                "without": DecodeConfig(beam=options.beam),
                "with": DecodeConfig(beam=options.beam, glossary=path),
            }.items():
                translator = Translator.load(options.model, config)
                began = time.process_time()
                texts = [one.texts[0] for one in translator.translate_all([[source] for source, _ in usable])]
                seconds = round(time.process_time() - began, 1)
                result[name][kind] = scores(glossary, usable, texts) | {"seconds": seconds}
                print(name, kind, result[name][kind], flush=True)
                result[name][f"{kind}: translations"] = texts
    write(result, options.output)


def wanted(glossary: Glossary, source: str, reference: str) -> bool:
    found = glossary.find(source)
    return bool(found) and all(term.is_in(reference) for term in found)


def scores(glossary: Glossary, pairs: list[tuple[str, str]], texts: list[str]) -> dict[str, float]:
    found = [(term, text) for (source, _), text in zip(pairs, texts, strict=True) for term in glossary.find(source)]
    references = [[reference for _, reference in pairs]]
    return {
        "terms": len(found),
        "present": sum(term.is_in(text) for term, text in found),
        "BLEU": round(sacrebleu.corpus_bleu(texts, references).score, 2),
        "chrF": round(sacrebleu.corpus_chrf(texts, references).score, 2),
    }


if __name__ == "__main__":
    main()
