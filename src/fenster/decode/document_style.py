"""What the translation of a document has settled on so far: its register, its quotation marks, and the sentences that
it has already."""

from __future__ import annotations

from collections import Counter

from fenster.language import Register
from fenster.language.quotes import DocumentQuotes
from fenster.language.register import RegisterCounter

_FEWEST_FORMS = 3  # of address, before a document has a register
_AGREE = 0.75  # the share of them in one register
_DUPLICATE_WORDS = 6  # shorter translations may well occur twice


class DocumentStyle:
    def __init__(self, counter: RegisterCounter | None, quotes: DocumentQuotes, steady: bool) -> None:
        """`steady` documents keep to the register that they have settled on."""
        self._counter, self.quotes, self.is_steady = counter, quotes, steady
        self._forms: Counter[Register] = Counter()
        self._sources: dict[int, int] = {}  # of the translations so far; hashes of both, since texts are long

    def add(self, source: str, target: str) -> None:
        """The next translation of the document."""
        if _is_long(target):
            self._sources.setdefault(hash(target), hash(source.casefold()))
        if self._counter is not None:
            self._forms.update(self._counter.counts(source, target))

    def is_duplicate(self, source: str, target: str) -> bool:
        """True if a different source had the same long translation."""
        ours = hash(source.casefold())
        return _is_long(target) and self._sources.get(hash(target), ours) != ours

    @property
    def steady_register(self) -> Register | None:
        """The register that the document keeps to from here: that of most forms of address so far, if there are
        some."""
        if not self.is_steady:
            return None
        total = self._forms.total()
        register = max(self._forms, key=lambda one: self._forms[one], default=None)
        agree = register is not None and self._forms[register] >= _AGREE * total
        return register if total >= _FEWEST_FORMS and agree else None


def _is_long(target: str) -> bool:
    return target.count(" ") + 1 >= _DUPLICATE_WORDS
