"""What the translation of a document has settled on so far: its register, its quotation marks, and the sentences that
it has already."""

from __future__ import annotations

from collections import Counter

from fenster.language import Register
from fenster.language.quotes import DocumentQuotes
from fenster.language.register import RegisterCounter

_FEWEST_FORMS = 3  # of address, before a document has a register
_AGREE = 0.75  # the share of them in one register


class DocumentStyle:
    def __init__(self, counter: RegisterCounter | None, quotes: DocumentQuotes, steady: bool) -> None:
        """`steady` documents keep to the register that they have settled on."""
        self._counter, self.quotes, self.is_steady = counter, quotes, steady
        self._forms: Counter[Register] = Counter()
        self.seen: dict[str, str] = {}
        """Sources of the translations so far."""

    def add(self, source: str, target: str) -> None:
        """The next translation of the document."""
        self.seen.setdefault(target, source)
        if self._counter is not None:
            self._forms.update(self._counter.counts(source, target))

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
