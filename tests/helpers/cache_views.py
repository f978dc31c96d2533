"""What queries of a decoding step may see, for the tests of its kernels."""

from __future__ import annotations

import torch

from fenster.model.attention.cache import CacheView

VIEWS = (
    ("groups", "each", "slots", "shared", "distances", "rows"),
    [
        (1, 1, 1, False, None, False),
        (3, 4, 84, False, 41, False),
        (2, 12, 130, True, None, False),
        (5, 1, 41, False, None, True),
        (2, 20, 65, False, 9, True),
    ],
)
"""Arguments of `pytest.mark.parametrize`, for those of `some_view`."""


def some_view(
    groups: int, each: int, slots: int, shared: bool, distances: int | None, rows: bool, device: str = "cpu"
) -> CacheView:
    """Masks with at least one slot per query, drawn at random."""
    masks = []
    for _ in range(2):
        mask = torch.rand(groups if shared else groups * each, slots) < 0.4
        mask[:, slots // 2 :] &= slots < 100  # room that no one uses yet
        mask[torch.arange(len(mask)), torch.randint((slots + 1) // 2, (len(mask),))] = True
        masks.append(mask.to(device))
    relative = None if distances is None else torch.randint(distances, (groups * each, slots)).to(device)
    where = torch.randint(groups * slots, (groups, slots)).to(device) if rows else None
    return CacheView(tuple(masks), relative, where)
