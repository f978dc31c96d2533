"""Inspecting attention: weights on request, the share on the current sentence, entropy.

A probe is handed to a forward pass and receives every module's weights (through the dense reference, so for
analysis, not for training). It keeps sums over tokens, so that any number of documents can go through one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fenster.model.attention.backends.reference import weights
from fenster.model.attention.mask import AttentionMask, Relative


@dataclass(frozen=True)
class ProbePoint:
    """A probe at one module of the network. Layers get None if there is no probe, and no names either: a name would
    make each layer a program of its own for torch.compile."""

    probe: Probe
    name: str

    def at(self, part: str) -> ProbePoint:
        return ProbePoint(self.probe, f"{self.name}.{part}")

    def record(self, q: Tensor, k: Tensor, masks: Sequence[AttentionMask], relative: Relative | None) -> None:
        self.probe.record(self.name, q, k, masks, relative)


@dataclass
class Probe:
    """Collects, by module name such as `decoder.3.cross`, per head:

    share: attention mass on keys of the query's own sentence (Table 1 of the paper, for cross-attention);
    entropy: of the attention weights, in nats. `keep_weights` also keeps the weights themselves.
    """

    keep_weights: bool = False
    weights: dict[str, list[Tensor]] = field(default_factory=lambda: defaultdict(list))  # [H, T, S] each
    _tokens: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _share: dict[str, Tensor] = field(default_factory=dict)  # [H] sums over tokens
    _entropy: dict[str, Tensor] = field(default_factory=dict)

    @torch.no_grad()
    def record(
        self, name: str, q: Tensor, k: Tensor, masks: Sequence[AttentionMask], relative: Relative | None
    ) -> None:
        for number, mask in enumerate(masks):
            label = name if len(masks) == 1 else f"{name}.{number}"
            seen = weights(q, k, mask, relative)
            same = mask.queries.sentence[:, None] == mask.keys.sentence[None, :]
            share = (seen * same).sum((1, 2))
            entropy = -torch.special.xlogy(seen, seen).sum((1, 2))
            self._share[label] = self._share.get(label, torch.zeros_like(share)) + share
            self._entropy[label] = self._entropy.get(label, torch.zeros_like(entropy)) + entropy
            self._tokens[label] += seen.shape[1]
            if self.keep_weights:
                self.weights[label].append(seen)

    @property
    def modules(self) -> list[str]:
        return list(self._tokens)

    def share(self, module: str) -> Tensor:
        """[H] mean share of attention on the current sentence."""
        return self._share[module] / self._tokens[module]

    def entropy(self, module: str) -> Tensor:
        """[H] mean entropy."""
        return self._entropy[module] / self._tokens[module]

    def cross_share(self) -> tuple[float, float]:
        """Table 1's figure: mean over heads and all layers' cross-attention, and of the last layer alone."""
        shares = [self.share(name).mean() for name in self.modules if name.endswith("cross")]
        return float(torch.stack(shares).mean()), float(shares[-1])
