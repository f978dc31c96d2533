"""Which register a translation uses, counted from its forms of address."""

from __future__ import annotations

import re
from functools import cached_property

from fenster.language import Language, Register

Form = tuple[int, int, Register]


class RegisterCounter:
    """Forms of address in the translations of one language pair."""

    def __init__(self, source: Language, target: Language) -> None:
        self._source, self._target = source.address, target.address

    @property
    def known(self) -> bool:
        """False if the target language has no rules; then no form is ever counted."""
        return self._target is not None

    @cached_property
    def _patterns(self) -> dict[Register, re.Pattern[str]]:
        assert self._target is not None
        return {"formal": re.compile(self._target.formal), "informal": re.compile(self._target.informal)}

    @cached_property
    def _second(self) -> re.Pattern[str] | None:
        return re.compile(self._source.second_person) if self._source and self._source.second_person else None

    @cached_property
    def _third(self) -> re.Pattern[str] | None:
        return re.compile(self._source.third_person) if self._source and self._source.third_person else None

    def counts(self, source: str, target: str) -> dict[Register, int]:
        """Forms of each register in a translated sentence.

        A formal form that could be the third person (German Sie at the start of a sentence) counts if the source
        addresses somebody and has no third person that would explain it.
        """
        if self._target is None:
            return {"formal": 0, "informal": 0}
        counts: dict[Register, int] = {
            register: sum(1 for _ in pattern.finditer(target)) for register, pattern in self._patterns.items()
        }
        addressed = self._second is None or self._second.search(source) is not None
        if addressed and not (self._third and self._third.search(source)):
            # Behind a word that starts no sentence every form counts.
            counts["formal"] = sum(1 for _ in self._patterns["formal"].finditer(_inside_sentence(target)))
        return counts

    def forms(self, source: str, target: str) -> list[Form]:
        """(start, end, register) of each form of address that `counts` counts, in order."""
        if self._target is None:
            return []
        counts = self.counts(source, target)
        patterns = dict(self._patterns)
        if counts["formal"] > sum(1 for _ in patterns["formal"].finditer(target)):
            patterns["formal"] = re.compile(self._target.formal_words)  # also at the start of sentences
        return sorted(
            (*match.span(), register) for register, pattern in patterns.items() for match in pattern.finditer(target)
        )

    def register(self, source: str, target: str) -> Register | None:
        """The register of a translated sentence; None without forms, or with as many of both."""
        formal, informal = self.counts(source, target).values()
        if formal == informal:
            return None
        return "formal" if formal > informal else "informal"


def _inside_sentence(text: str) -> str:
    """The same words, none of them at the start of a sentence."""
    return re.sub(r"^|(?<=[.!?:…“”„\"«»›‹–—\-(*>‚‘']) ?", " x ", text)
