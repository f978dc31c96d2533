"""What keeping the style of quotation marks does to BLEU: python experiments/quotes.py TEST TRANSLATIONS … [-o FILE]

Translations that a model made with `--quotes model` (or --no-protection), one per line, beside their test sets: their
marks are rewritten by each policy, and scored again.
"""

from __future__ import annotations

from pathlib import Path

import sacrebleu
from script import parser, write

from fenster.data.corpora import read_corpus
from fenster.evaluate.test_set import read_hypotheses
from fenster.language import load_language
from fenster.language.quotes import DocumentQuotes, QuotePolicy, with_quotes

POLICIES: tuple[QuotePolicy, ...] = ("model", "auto", "keep")


def rewritten(source: str, translation: str, quotes: DocumentQuotes) -> str:
    pair = quotes.pair_for(source)
    return translation if pair is None else "".join(with_quotes([translation], pair))


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("files", nargs="+", type=Path, help="a test set and its translations, in turn")
    options = options_parser.parse_args()
    marks = load_language("de").quotes
    result = {}
    for test, translations in zip(options.files[::2], options.files[1::2], strict=True):
        documents = list(read_corpus([test]))
        outputs = read_hypotheses(translations, documents)
        references = [[text for document in documents for text in document.target.texts]]
        scores = {}
        for policy in POLICIES:
            texts = []
            for document, made in zip(documents, outputs, strict=True):
                quotes = DocumentQuotes(marks, policy, document.source.texts)
                pairs = zip(document.source.texts, made, strict=True)
                texts += [rewritten(source, text, quotes) for source, text in pairs]
            scores[policy] = round(sacrebleu.corpus_bleu(texts, references).score, 2)
        name = f"{test.parent.name}/{test.name.split('.tsv')[0]}, {translations.stem}"
        result[name] = scores
        print(name, scores, flush=True)
    write(result, options.output)


if __name__ == "__main__":
    main()
