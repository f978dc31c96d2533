"""spaCy with its small models: what the paper used. An extra, since the models are not on PyPI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fenster.errors import ConfigError
from fenster.evaluate.tagging.tokens import Tagged

_MODELS = {"en": "en_core_web_sm", "de": "de_core_news_sm", "it": "it_core_news_sm"}


class SpacyTagger:
    def __init__(self, language: str) -> None:
        if language not in _MODELS:
            raise ConfigError(f"no spaCy model is set for {language!r}", expected=", ".join(_MODELS))
        model = _MODELS[language]
        try:
            import spacy

            self._pipe: Any = spacy.load(model, exclude=["parser", "ner", "lemmatizer"])
        except (ImportError, OSError):
            raise ConfigError(
                f"spaCy or its model {model} is not installed",
                fix=f"pip install 'fenster[spacy]' && python -m spacy download {model}; or use --tagger hanta",
            ) from None
        self.name = f"spaCy {spacy.__version__}, {model} {self._pipe.meta['version']}"

    def tag(self, sentences: Sequence[str]) -> list[Tagged]:
        return [[(token.text, token.tag_) for token in document] for document in self._pipe.pipe(sentences)]
