"""The transformer: tied embeddings, encoder, decoder, whole sequences or one token at a time.

Works on packed ids; text never comes here. The training path is `forward`, decoding goes `encode`, `prefill` with
the given prefix (or `begin` without one), `step`; all give the same numbers for the same tokens and the same
alignment.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from fenster.data.tokenizer import BOS_ID, PAD_ID
from fenster.model.attention.alignment import ALIGNMENTS, Alignment
from fenster.model.attention.alignment.state import AlignmentState
from fenster.model.attention.backends import precompute
from fenster.model.attention.cache import StepPositions
from fenster.model.attention.probe import Probe, ProbePoint
from fenster.model.attention.variants import LayerMasks
from fenster.model.config import Checkpointing, ModelConfig
from fenster.model.decoder_state import DecoderState
from fenster.model.init import init_weights
from fenster.model.layers import DecoderLayer, EncoderLayer
from fenster.model.layout import Layout
from fenster.model.ops.dropout import Dropout
from fenster.model.ops.precision import to_autocast_dtype
from fenster.model.positions import sinusoids


class Transformer(nn.Module):
    """`ratio` is the training data's source/target ratio, which some alignments need.

    With `checkpointing` training recomputes in the backward pass what it did not keep: "ffn" the inside of the
    feed-forward parts (the widest tensors there are, for little time), "layers" all but each layer's input (about a
    quarter more time for a fraction of the memory).
    """

    def __init__(self, config: ModelConfig, vocab_size: int, ratio: float = 1.0) -> None:
        super().__init__()
        self.config, self.ratio = config, ratio
        self.variant = config.variant
        self.embedding = nn.Embedding(vocab_size, config.d_model, padding_idx=PAD_ID)
        init_weights(self.embedding, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config, self.variant) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, self.variant) for _ in range(config.decoder_layers))
        # With the norm first the last sub-layer's output is not normed by its own layer.
        pre = config.norm == "pre"
        self.encoder_norm: nn.Module = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.decoder_norm: nn.Module = nn.LayerNorm(config.d_model) if pre else nn.Identity()
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
        """The one for training and scoring; variants without an alignment ignore it."""
        return self.alignment(self.variant.alignment or "linear")

    def decoding_alignment(self) -> Alignment:
        return self.alignment(self.variant.decoding_alignment or "one-to-one")

    @property
    def vocab_size(self) -> int:
        return self.embedding.num_embeddings

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device

    def masks(
        self,
        source: Layout,
        target: Layout,
        center: Tensor,
        *,
        focused: Tensor | None = None,
        encoded: bool = False,
    ) -> LayerMasks:
        """What every module may attend to in this batch, cross-attention around `center` [T], of the tokens that are
        `focused` [T] within their own sentence; used by all layers. Nothing for the encoder where it has done its
        work (`encoded`)."""
        variant = self.variant
        made = LayerMasks(
            () if encoded else variant.encoder(source),
            variant.decoder(target),
            variant.cross(source, target, center, focused),
        )
        size = self.config.d_model // self.config.heads
        heads = to_autocast_dtype(self.embedding.weight.new_empty(0, self.config.heads, size))  # a look at q
        for mask in (*made.encoder, *made.decoder, *made.cross):
            relative = self.config.max_distance is not None and mask.queries is mask.keys
            precompute(self.config.backend, mask, heads, relative)
        return made

    def forward(
        self,
        source_ids: Tensor,
        target_ids: Tensor,
        source: Layout,
        target: Layout,
        *,
        alignment: Alignment | None = None,
        probe: Probe | None = None,
    ) -> Tensor:
        """Hidden states [T, d_model] that predict `target_ids` [T]; the input of `logits` and `smoothed_loss`."""
        masks = self.masks(source, target, (alignment or self.training_alignment()).whole(source, target))
        memory = self.encode(source_ids, source, masks, probe)
        x = self._embed(shift_right(target_ids, target), target.document_position)
        for number, layer in enumerate(self.decoder):
            x = self._run(layer, x, memory, masks, probe and ProbePoint(probe, f"decoder.{number}"))
        out: Tensor = self.decoder_norm(x)
        return out

    def encode(
        self, source_ids: Tensor, source: Layout, masks: LayerMasks | None = None, probe: Probe | None = None
    ) -> Tensor:
        """[S, d_model] encoder states."""
        masks = masks or LayerMasks(self.variant.encoder(source), (), ())
        x = self._embed(source_ids, source.document_position)
        for number, layer in enumerate(self.encoder):
            x = self._run(layer, x, masks, probe and ProbePoint(probe, f"encoder.{number}"))
        out: Tensor = self.encoder_norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """[…, vocabulary], through the tied embedding."""
        return F.linear(hidden, self.embedding.weight)

    @torch.no_grad()
    def begin(
        self,
        memory: Tensor,
        source: Layout,
        sequence: Tensor,
        *,
        alignment: Alignment | None = None,
        target: Layout | None = None,
        follows: Tensor | None = None,
    ) -> DecoderState:
        """The state of hypotheses that translate source sequences `sequence` [N], before their first token.

        `target` gives target lengths if they are known, for alignments that need them: hypothesis n follows its
        sequence `follows[n]` (by default `sequence[n]`, one target per source).
        """
        kv = [layer.cross.project_source(memory) for layer in self.decoder_layers()]
        self_cache = self.variant.empty_cache([x.new_empty(len(sequence), *x.shape[1:]) for x in kv])
        alignment_state = AlignmentState.begin(
            alignment or self.decoding_alignment(), source, sequence, target, follows
        )
        return DecoderState(self_cache, self.variant.source_cache(kv, source, False), alignment_state)

    @torch.no_grad()
    def prefill(
        self,
        inputs: Tensor,
        target: Layout,
        memory: Tensor,
        source: Layout,
        alignment: Alignment | None = None,
        focus: bool | None = None,
    ) -> tuple[Tensor, DecoderState]:
        """(hidden [B, d_model] that predicts each sequence's next token, state) after the decoder inputs `inputs`
        [T].

        What `begin` and one `step` for each input would give, at once: BOS (or whatever precedes the first position
        of `target`), then the given tokens. Target sequence b translates source sequence b; the last position
        of `target` is that of the token to come. `focus` restricts the windows of that token, and of those that
        follow, to the sentence being translated; by default as the model's settings say.
        """
        alignment = alignment or self.decoding_alignment()
        focus = self.variant.focus if focus is None else focus
        last = target.offsets[1:] - 1
        focused = torch.zeros_like(target.sequence_id, dtype=torch.bool).index_fill(0, last, True) if focus else None
        masks = self.masks(source, target, alignment.prefix(source, target), focused=focused, encoded=True)
        x, kept = self._embed(inputs, target.document_position), []
        source_kv = [layer.cross.project_source(memory) for layer in self.decoder_layers()]
        for layer, kv in zip(self.decoder_layers(), source_kv, strict=True):
            x, own_kv = layer.prefill(x, kv, masks)
            kept.append(own_kv)
        sequence = torch.arange(target.sequences, device=inputs.device)
        inner = (target.position - target.starts[target.sequence_id, target.sentence])[last]
        position, sentence = target.document_position[last], target.sentence[last]
        alignment_state = AlignmentState(alignment, source, None, sequence, sequence, position, sentence, inner)
        self_cache = self.variant.filled_cache(kept, target)
        seen = self.variant.source_cache(source_kv, source, focus)
        return self.decoder_norm(x[last]), DecoderState(self_cache, seen, alignment_state, n_hyps=1)

    @torch.no_grad()
    def step(self, previous: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """(hidden [N, d_model] that predicts the next token, state) after the tokens `previous` [N]; first BOS."""
        alignment_state, center = state.alignment_state.advance(previous)
        now = StepPositions(
            alignment_state.sequence, alignment_state.position, alignment_state.sentence, center, state.n_hyps
        )
        x = self._embed(previous, alignment_state.position)
        self_cache = state.self_cache.allocate(now)
        own, source = (
            (self_cache, self_cache.view(now, self.config.max_distance)),
            (state.cross_cache, state.cross_cache.view(now)),
        )
        for number, layer in enumerate(self.decoder_layers()):
            x = layer.step(x, number, own, source)
        return self.decoder_norm(x), DecoderState(self_cache, state.cross_cache, alignment_state, state.n_hyps)

    def _run(self, layer: nn.Module, *inputs: Any) -> Tensor:
        out: Tensor
        probed = inputs[-1] is not None  # a recomputed layer would count its attention twice
        if self.checkpointing == "layers" and torch.is_grad_enabled() and not probed:
            out = checkpoint(layer, *inputs, use_reentrant=False)
        else:
            out = layer(*inputs)
        return out

    def decoder_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.decoder if isinstance(layer, DecoderLayer)]

    def _embed(self, ids: Tensor, position: Tensor) -> Tensor:
        x = self.embedding(ids) * math.sqrt(self.config.d_model)
        if self.config.positions == "sinusoidal":
            x = x + sinusoids(position, self.config.d_model).to(x.dtype)
        out: Tensor = self.dropout(to_autocast_dtype(x))
        return out


def shift_right(ids: Tensor, packed: Layout) -> Tensor:
    """Decoder inputs: each sequence moved on by one place, BOS first."""
    return torch.where(packed.position == 0, BOS_ID, ids.roll(1))
