"""Figures that are names and no quantities: version 1.5, Python 3.12, a heading 1.1."""

from __future__ import annotations

import re
from functools import cached_property

from fenster.language import Language
from fenster.language.spans import any_of
from fenster.language.unit_symbols import has_unit, is_unit

_BESIDE = 200  # characters before and after a figure that say what it is
_RANGE_END = re.compile(r" ?[-–] ?\d[\d.,]*")
_LISTED = re.compile(r"(?:\d+(?:\.\d+)+(?:, (?:and |or )?| (?:and|or|to|through) (?:§ ?)?| ?[-–] ?))+$")


class Labels:
    """What the words beside a figure say of it, in one language."""

    def __init__(self, source: Language) -> None:
        self._source, self._style = source, source.numbers

    def is_name(self, match: re.Match[str]) -> bool:
        """True after a label or a name (version 1.5, Python 3.12) and before a heading (1.1 Introduction), but not of
        what is measured (Heparin 1.5 mg)."""
        before = match.string[max(0, match.start() - _BESIDE) : match.start()]
        after = match.string[match.end() : match.end() + _BESIDE]
        after = _RANGE_END.sub("", after, count=1)
        if self._style.group in match.group() or self._scaled.match(after):
            return False
        if not before.strip():
            short = re.fullmatch(r"\d{1,2}\.\d{1,2}", match.group()) is not None
            return short and re.match(r"[.)]? [A-Z]|[.)]$", after) is not None and not is_unit(after)
        before = _LISTED.sub("", before)  # sections 1.2 and 1.3
        if before.rstrip(" ").endswith("§"):
            return True
        last = re.search(r"(?P<word>[\w+#-]+)\.?[ (]$", before)
        if last is None:
            return False
        word = last["word"]
        if word.lower() in self._style.labels or after.startswith(" LTS"):
            return True
        if word in self._style.quantity_names or has_unit(after) or self._counted.match(after):
            return False
        starts_sentence = last.start() == 0 or re.search(r"[.!?:“”\"(]\s*$", before[: last.start()]) is not None
        if word.lower() in self._style.months:
            return False
        if starts_sentence:
            # Every sentence begins with a capital. "Python 3.12 is new" continues with a small word, "Add 1.5 cups"
            # with what is counted.
            following = re.match(r"\s*([A-Za-z]+)", after)
            counted = following is not None and following[1].lower() not in (*self._ordinary, *self._style.predicates)
            is_amount = following is None and word.lower() in self._style.quantity_words
            if counted or is_amount or word.lower() in self._ordinary:
                return False
        return any(character.isupper() for character in word)

    @cached_property
    def _counted(self) -> re.Pattern[str]:
        style = self._style
        units = (spelling for spellings in style.units.values() for spelling in spellings)
        words = any_of((*units, *style.percent_words, *style.counted_words))
        return re.compile(rf"[ -]?(?:{words})(?!\w)")

    @cached_property
    def _scaled(self) -> re.Pattern[str]:
        return re.compile(rf"[ -]?(?:{any_of(self._style.scales)})(?!\w)", re.IGNORECASE)

    @cached_property
    def _ordinary(self) -> frozenset[str]:
        """Words that begin a sentence and are no names."""
        return frozenset((*self._source.common_words, *self._source.leading_words))
