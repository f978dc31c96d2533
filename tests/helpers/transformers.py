"""Tiny transformers of every variant, and batches for them."""

from typing import Any

import torch

from fenster.data.tokenizer import EOS_ID, SEP_ID
from fenster.model.config import preset
from fenster.model.layout import Layout
from fenster.model.transformer import Transformer

VARIANTS: dict[str, dict[str, Any]] = {
    "full": {"attention": {"kind": "full"}},
    "full-relative": {"attention": {"kind": "full", "max_distance": 3}, "positions": "relative"},
    "lst": {"attention": {"kind": "lst"}},
    "window": {"attention": {"kind": "window", "window": 3}},
    "window-relative": {"attention": {"kind": "window", "window": 3}, "positions": "relative"},
}
SOURCE, TARGET = [[4, 3, 5], [2, 6]], [[3, 5, 2], [7, 4]]


def make(name: str, **changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(preset("tiny", **{**VARIANTS[name], **changes}), 40, ratio=1.1).double().eval()


def some_batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, Layout, Layout]:
    generator = torch.Generator().manual_seed(seed)
    source, target = Layout.from_sentence_lengths(SOURCE), Layout.from_sentence_lengths(TARGET)
    ids = torch.randint(6, 40, (source.tokens,), generator=generator)
    wanted = torch.randint(6, 40, (target.tokens,), generator=generator)
    for tokens, lengths in ((ids, SOURCE), (wanted, TARGET)):
        marks = torch.tensor([token for row in target_ids(lengths) for token in row])
        tokens[marks == SEP_ID], tokens[marks == EOS_ID] = SEP_ID, EOS_ID
    return ids, wanted, source, target


def target_ids(lengths: list[list[int]]) -> list[list[int]]:
    """Tokens of target sequences with the given sentence lengths: words, `<sep>` between, `<eos>` last."""
    made = []
    for sizes in lengths:
        ids = [token for size in sizes for token in [9] * (size - 1) + [SEP_ID]]
        made.append([*ids[:-1], EOS_ID])
    return made
