"""Sequential decoding (SD): sentence by sentence, with what was translated before as given prefix.

The source stops at the current sentence and is encoded again for each, as the paper does. For window attention only
the end of the document is needed: a new token sees w tokens back in each decoder layer, cross-attention sees w source
tokens around theirs, and each encoder layer w more. Sentences out of that reach are left out, which changes no number
and makes the cost of a sentence, and the state, independent of where in the document it stands.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from fenster.decode.beam import Limits
from fenster.decode.job import Job
from fenster.model.transformer import Transformer
from fenster.tokenize import Ids


@dataclass
class Reading:
    """A document being translated: sentences that were read, with their translations, and those to come."""

    source: list[Ids]
    target: list[Ids] = field(default_factory=list)
    source_starts: list[int] = field(default_factory=lambda: [0])
    """Tokens before each sentence, end symbols included; of translated ones and the next."""
    target_starts: list[int] = field(default_factory=lambda: [0])
    parts: list[int] = field(default_factory=list)
    """First sentences of the parts that the document is cut into, once someone has asked."""

    @property
    def next(self) -> int:
        """The sentence to be translated."""
        return len(self.target)

    def add(self, translation: Ids) -> None:
        self.source_starts.append(self.source_starts[-1] + len(self.source[self.next]) + 1)
        self.target_starts.append(self.target_starts[-1] + len(translation) + 1)
        self.target.append(translation)


def job(
    model: Transformer,
    reading: Reading,
    most: int,
    *,
    first: int,
    bod: bool = False,
    lookahead: int = 0,
    alignment: str | None = None,
    whole: bool = False,
) -> Job:
    """The search for the next sentence, with context from sentence `first` on. `whole` leaves nothing out."""
    number = reading.next
    shift = 2 if bod else 0  # `<bod> <sep>` before the first sentence, on both sides
    start = first if whole else max(first, _needed(model, reading, alignment, first, shift))
    until = min(len(reading.source), number + 1 + lookahead)
    limits = Limits((most,), least=1, one=True)
    before = shift if start > first else 0
    return Job(
        reading.source[start:until],
        reading.target[start:number],
        limits,
        bod=bod and start == first,
        source_before=reading.source_starts[start] - reading.source_starts[first] + before,
        target_before=reading.target_starts[start] - reading.target_starts[first] + before,
    )


def _needed(model: Transformer, reading: Reading, alignment: str | None, first: int, shift: int) -> int:
    """The first sentence that the next one can depend on, where the context begins with sentence `first`, `shift`
    tokens after the place that alignments count from."""
    attention = model.config.attention
    if attention.kind != "window":
        return 0
    aligned = model.decoding_alignment() if alignment is None else model.alignment(alignment)
    width, layers = attention.window, model.config.decoder_layers
    sources, targets = reading.source_starts, reading.target_starts
    source_origin, target_origin = sources[first] - shift, targets[first] - shift
    here = targets[-1]
    # The earliest token whose cross-attention is needed, and the earliest source token that it can look at: where its
    # alignment says, but within the source, which ends with the current sentence.
    earliest = max(target_origin, here - (layers - 1) * width)
    sentence = min(max(first, _at_or_before(targets, earliest)), reading.next)
    center = aligned.lowest(earliest - target_origin, sources[sentence] - source_origin) + source_origin
    center = min(center, sources[-1] + len(reading.source[reading.next]))
    oldest_source = center - width - model.config.encoder_layers * width
    oldest_target = here - layers * width
    return max(0, min(_at_or_before(sources, oldest_source), _at_or_before(targets, oldest_target)))


def _at_or_before(starts: Sequence[int], place: int) -> int:
    """The last sentence that starts at or before a place; -1 if none does."""
    return bisect_right(starts, place) - 1
