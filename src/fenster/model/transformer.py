"""The transformer: tied embeddings, encoder, decoder, whole sequences or one token at a time.

Works on packed ids; text never comes here. The training path is `forward`, decoding goes `encode`, `fill` with
what is given (or `begin` with nothing), `step`; all give the same numbers for the same tokens and the same alignment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from fenster.model.align import ALIGNMENTS, Alignment, Steps
from fenster.model.attention import Patterns, make_variant
from fenster.model.compute import make_ready
from fenster.model.config import Checkpointing, ModelConfig
from fenster.model.dropout import Dropout
from fenster.model.initial import start
from fenster.model.layers import DecoderLayer, EncoderLayer
from fenster.model.packed import Packed
from fenster.model.position import sinusoids
from fenster.model.precision import narrowed
from fenster.model.probe import Probe, Spot
from fenster.model.product import product
from fenster.model.state import CrossState, Moment, SelfState
from fenster.tokenize import BOS_ID, PAD_ID


@dataclass(frozen=True)
class DecoderState:
    """Everything that N hypotheses need to go on: what attention keeps, and the alignment's state."""

    past: SelfState
    source: CrossState
    steps: Steps
    width: int = 0
    """Hypotheses of each source, side by side, where that is so for all; 0 where it is not known."""

    def reorder(self, index: Tensor, width: int = 0, keep: Tensor | None = None) -> DecoderState:
        """Hypothesis n goes on from what hypothesis index[n] was.

        A search that keeps `width` hypotheses a source side by side says so, and which sources (`keep`) it needs from
        now on where not all: less has to be moved then."""
        past = self.past.reorder(index, width, keep)
        source = self.source if keep is None else self.source.narrow(keep)
        return DecoderState(past, source, self.steps.reorder(index), width)

    def fixed(self, more: int) -> DecoderState:
        """The same in tensors whose shapes recur and stay, with room for `more` tokens than before."""
        layout = self.steps.source.fixed()
        steps = replace(self.steps, source=layout)
        return DecoderState(self.past.fixed(more), self.source.fixed(layout), steps, self.width)


class Transformer(nn.Module):
    """`ratio` is the training data's source/target ratio, which some alignments need.

    With `checkpointing` training computes again in the backward pass what it did not keep: "ffn" the inside of the
    feed-forward parts (the widest tensors there are, for little time), "layers" all but each layer's input (about a
    quarter more time for a fraction of the memory).
    """

    def __init__(self, config: ModelConfig, vocab_size: int, ratio: float = 1.0) -> None:
        super().__init__()
        self.config, self.ratio = config, ratio
        self.variant = make_variant(config.attention)
        self.embedding = nn.Embedding(vocab_size, config.width, padding_idx=PAD_ID)
        start(self.embedding, config.width)
        self.projection: nn.Module | None = None
        """Of hidden states to logits, where that is not the embedding itself (quantised models)."""
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config, self.variant) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, self.variant) for _ in range(config.decoder_layers))
        # With the norm first the last sub-layer's output is not normed by its own layer.
        pre = config.norm == "pre"
        self.encoder_norm: nn.Module = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.decoder_norm: nn.Module = nn.LayerNorm(config.width) if pre else nn.Identity()
        self.checkpointing: Checkpointing = "none"

    @property
    def checkpointing(self) -> Checkpointing:
        return self._checkpointing

    @checkpointing.setter
    def checkpointing(self, value: Checkpointing) -> None:
        self._checkpointing = value
        for layer in (*self.encoder, *self.decoder):
            layer.ffn.checkpointing = value == "ffn"

    def alignment(self, name: str) -> Alignment:
        return ALIGNMENTS[name](self.ratio)

    def training_alignment(self) -> Alignment:
        """The one for training and scoring; variants without windows do not look at it."""
        attention = self.config.attention
        return self.alignment(attention.alignment if attention.kind == "window" else "linear")

    def decoding_alignment(self) -> Alignment:
        attention = self.config.attention
        return self.alignment(attention.decoding_alignment if attention.kind == "window" else "one-to-one")

    @property
    def focus(self) -> bool:
        attention = self.config.attention
        return attention.kind == "window" and attention.decoding_focus

    def patterns(
        self,
        source: Packed,
        target: Packed,
        center: Tensor,
        *,
        focused: Tensor | None = None,
        encoded: bool = False,
    ) -> Patterns:
        """What every module may attend to in this batch, cross-attention around `center` [T], of the tokens that are
        `focused` [T] within their own sentence; used by all layers. Nothing for the encoder where it has done its
        work (`encoded`)."""
        variant = self.variant
        made = Patterns(
            () if encoded else variant.encoder(source),
            variant.decoder(target),
            variant.cross(source, target, center, focused),
        )
        heads = narrowed(self.embedding.weight[:0]).view(
            0, self.config.heads, self.config.width // self.config.heads
        )  # no rows: a look at q
        for pattern in (*made.encoder, *made.decoder, *made.cross):
            relative = self.config.reach is not None and pattern.queries is pattern.keys
            make_ready(self.config.compute, pattern, heads, relative)
        return made

    def forward(
        self,
        source_ids: Tensor,
        target_ids: Tensor,
        source: Packed,
        target: Packed,
        *,
        alignment: Alignment | None = None,
        probe: Probe | None = None,
    ) -> Tensor:
        """Hidden states [T, width] that predict `target_ids` [T]; `logits` or `smoothed_loss` go on from here."""
        patterns = self.patterns(source, target, (alignment or self.training_alignment()).whole(source, target))
        memory = self.encode(source_ids, source, patterns, probe)
        x = self._embed(shifted(target_ids, target), target.place)
        for number, layer in enumerate(self.decoder):
            x = self._run(layer, x, memory, patterns, probe and Spot(probe, f"decoder.{number}"))
        out: Tensor = self.decoder_norm(x)
        return out

    def encode(
        self, source_ids: Tensor, source: Packed, patterns: Patterns | None = None, probe: Probe | None = None
    ) -> Tensor:
        """[S, width] encoder states."""
        patterns = patterns or Patterns(self.variant.encoder(source), (), ())
        x = self._embed(source_ids, source.place)
        for number, layer in enumerate(self.encoder):
            x = self._run(layer, x, patterns, probe and Spot(probe, f"encoder.{number}"))
        out: Tensor = self.encoder_norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """[…, vocabulary], through the tied embedding (or its quantised copy)."""
        if self.projection is not None:
            out: Tensor = self.projection(hidden)
            return out
        return product(hidden, self.embedding.weight)

    @torch.no_grad()
    def begin(
        self,
        memory: Tensor,
        source: Packed,
        sequence: Tensor,
        *,
        alignment: Alignment | None = None,
        target: Packed | None = None,
        follows: Tensor | None = None,
    ) -> DecoderState:
        """The state of hypotheses that translate source sequences `sequence` [N], before their first token.

        `target` tells target lengths where they are known, for alignments that want them: hypothesis n follows its
        sequence `follows[n]` (by default `sequence[n]`, one target a source).
        """
        kv = [layer.cross.remember(memory) for layer in self._layers()]
        past = self.variant.self_state([x.new_empty(len(sequence), *x.shape[1:]) for x in kv])
        steps = (alignment or self.decoding_alignment()).begin(source, sequence, target, follows)
        return DecoderState(past, self.variant.cross_state(kv, source, False), steps)

    @torch.no_grad()
    def fill(
        self,
        inputs: Tensor,
        target: Packed,
        memory: Tensor,
        source: Packed,
        alignment: Alignment | None = None,
        focus: bool | None = None,
    ) -> tuple[Tensor, DecoderState]:
        """(hidden [B, width] that predicts each sequence's next token, state) after the decoder inputs `inputs` [T].

        What `begin` and one `step` for each input would give, at once: BOS (or whatever stands before the first place
        of `target`), then the tokens that are given. Target sequence b translates source sequence b; the last place
        of `target` is that of the token to come. `focus` says whether windows of that token, and of those
        that follow, keep to the sentence being translated; if left out, the model's own setting.
        """
        alignment = alignment or self.decoding_alignment()
        focus = self.focus if focus is None else focus
        last = target.offsets[1:] - 1
        focused = torch.zeros_like(target.owner, dtype=torch.bool).index_fill(0, last, True) if focus else None
        patterns = self.patterns(source, target, alignment.prefix(source, target), focused=focused, encoded=True)
        x = self._embed(inputs, target.place)
        kept = []
        for layer in self._layers():
            x, kv = layer.fill(x, memory, patterns)
            kept.append(kv)
        sequence = torch.arange(target.sequences, device=inputs.device)
        inner = (target.position - target.starts[target.owner, target.sentence])[last]
        steps = Steps(alignment, source, None, sequence, sequence, target.place[last], target.sentence[last], inner)
        past = self.variant.filled_state(kept, target)
        remembered = [layer.cross.remember(memory) for layer in self._layers()]
        seen = self.variant.cross_state(remembered, source, focus)
        return self.decoder_norm(x[last]), DecoderState(past, seen, steps, width=1)

    @torch.no_grad()
    def step(self, previous: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """(hidden [N, width] that predicts the next token, state) after the tokens `previous` [N]; first BOS."""
        steps, center = state.steps.next(previous)
        now = Moment(steps.sequence, steps.position, steps.sentence, center, state.width)
        x = self._embed(previous, steps.position)
        past = state.past.next(now)
        own, source = (past, past.look(now, self.config.reach)), (state.source, state.source.look(now))
        for number, layer in enumerate(self._layers()):
            x = layer.step(x, number, own, source)
        return self.decoder_norm(x), DecoderState(past, state.source, steps, state.width)

    def _run(self, layer: nn.Module, *inputs: Any) -> Tensor:
        out: Tensor
        probed = inputs[-1] is not None  # running a layer twice would count its attention twice
        if self.checkpointing == "layers" and torch.is_grad_enabled() and not probed:
            out = checkpoint(layer, *inputs, use_reentrant=False)
        else:
            out = layer(*inputs)
        return out

    def _layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]

    def _embed(self, ids: Tensor, position: Tensor) -> Tensor:
        x = self.embedding(ids) * math.sqrt(self.config.width)
        if self.config.positions == "sinusoidal":
            x = x + sinusoids(position, self.config.width).to(x.dtype)
        out: Tensor = self.dropout(narrowed(x))
        return out


def shifted(ids: Tensor, packed: Packed) -> Tensor:
    """Decoder inputs: each sequence moved on by one place, BOS first."""
    return torch.where(packed.position == 0, BOS_ID, ids.roll(1))
