"""What callers hand over: a document in several forms, and earlier sentences with their translations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fenster.data.text import check_texts
from fenster.decode.result import Translated
from fenster.document import Document, Segment
from fenster.errors import InputError

Pairs = Sequence[tuple[str, str]]
Given = Document | Sequence[str | Segment] | str


def as_document(given: Given | bytes | None) -> Document:
    """A Document, its segments, or a single one; checked, so that errors name the segment."""
    if isinstance(given, bytes) or not isinstance(given, Document | Iterable):
        raise InputError(f"{given!r} is not a document", expected="a Document, a list of texts, or a text")
    if isinstance(given, Document):
        check_texts(given.texts)
        return given
    listed = [given] if isinstance(given, str) else list(given)
    texts = check_texts(one.text if isinstance(one, Segment) else one for one in listed)
    segments = (
        one._replace(text=text) if isinstance(one, Segment) else Segment(text)
        for one, text in zip(listed, texts, strict=True)
    )
    return Document("", tuple(segments))


def as_done(given: object, document: Document) -> list[Translated]:
    """Translations of a document's first segments, as an earlier call gave them."""
    expected = "translations of the document's first segments, as an earlier call gave them"
    if not isinstance(given, list | tuple) or not all(isinstance(one, Translated) for one in given):
        raise InputError(f"done is {given!r}", expected=expected)
    if len(given) > len(document):
        raise InputError(f"done has {len(given)} segments, but the document has {len(document)}", expected=expected)
    return list(given)


def as_history(given: Pairs | str | None) -> list[tuple[str, str]]:
    """Pairs of a sentence and its translation."""
    pairs: list[object] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    made = []
    for number, pair in enumerate(pairs, start=1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"history item {number} is {pair!r}", expected="pairs: (sentence, its translation)")
        source, target = check_texts(pair)
        made.append((source, target))
    return made
