"""The tensors of several requests at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fenster.data.examples import concatenate
from fenster.decode.search.request import SearchRequest
from fenster.model.layout import Layout


@dataclass(frozen=True)
class SearchInputs:
    """What several requests are to a model."""

    source_ids: Tensor  # [S]
    source: Layout
    prefix_ids: Tensor  # [T] decoder inputs
    target: Layout  # the last position of each sequence is that of the token to come

    @classmethod
    def of(cls, requests: Sequence[SearchRequest], device: torch.device) -> SearchInputs:
        sides = [concatenate(request.source, bod=request.bod) for request in requests]
        source = Layout.from_sentence_lengths(
            [np.diff(side.starts).tolist() for side in sides], device, [request.source_offset for request in requests]
        )
        target = Layout.from_sentence_lengths(
            [[*(len(sentence) + 1 for sentence in request.prefix), 1] for request in requests],
            device,
            [request.target_offset for request in requests],
        )
        inputs = np.concatenate([request.decoder_inputs for request in requests])
        ids = np.concatenate([side.ids for side in sides]).astype(np.int64)
        return cls(torch.from_numpy(ids).to(device), source, torch.from_numpy(inputs).to(device), target)
