"""HanTa (Wartena 2019): trigram tagging with models for German and English inside the package, offline."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from fenster.errors import ConfigError
from fenster.evaluate.tagging.tokens import Tagged, words

_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}
# Its English model knows the BNC's tags; these are what Penn calls them.
_PENN = {"PNP": "PRP", "PNX": "PRP", "DPS": "PRP$", "PNQ": "WP"}


class HantaTagger:
    """The models are pickles, and come from the installed package only."""

    def __init__(self, language: str) -> None:
        if language not in _MODELS:
            raise ConfigError(
                f"HanTa has no model for {language!r}",
                expected=", ".join(_MODELS),
                fix="use --tagger lists, or spacy with a model for it",
            )
        from HanTa.HanoverTagger import HanoverTagger

        self.name = f"HanTa {version('HanTa')}"
        self._names = _PENN if language == "en" else {}
        self._tagger = HanoverTagger(_MODELS[language])

    def tag(self, sentences: Sequence[str]) -> list[Tagged]:
        return [self._sentence(words(sentence)) for sentence in sentences]

    def _sentence(self, tokens: list[str]) -> Tagged:
        if not tokens:
            return []
        tags = self._tagger.tag_sent(tokens, taglevel=0)  # without lemmas, which take as long again
        return [(token, self._names.get(tag, tag)) for token, tag in zip(tokens, tags, strict=True)]
