"""Nested frozen dataclasses and tuples of tensors, seen as one list of tensors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from torch import Tensor

Tree = TypeVar("Tree")


def leaves(tree: Any) -> Iterator[Tensor]:
    """Its tensors, always in the same order."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, tuple):
        for part in tree:
            yield from leaves(part)
    elif is_dataclass(tree):
        for field in fields(tree):
            yield from leaves(getattr(tree, field.name))


def rebuilt(tree: Tree, tensors: Iterator[Tensor]) -> Tree:
    """The same with other tensors, taken in the order of `leaves`."""
    return _rebuilt(tree, tensors)  # type: ignore[no-any-return]


def _rebuilt(tree: Any, tensors: Iterator[Tensor]) -> Any:
    if isinstance(tree, Tensor):
        return next(tensors)
    if isinstance(tree, tuple):
        return tuple(_rebuilt(part, tensors) for part in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        return replace(tree, **{field.name: _rebuilt(getattr(tree, field.name), tensors) for field in fields(tree)})
    return tree


def signature(tree: Any) -> Hashable:
    """Equal for trees that differ only in what their tensors hold: shapes, types and all that is no tensor."""
    if isinstance(tree, Tensor):
        return tuple(tree.shape), tree.dtype
    if isinstance(tree, tuple):
        return tuple(map(signature, tree))
    if is_dataclass(tree):
        return type(tree), tuple(signature(getattr(tree, field.name)) for field in fields(tree))
    if tree is None or isinstance(tree, int | float | str | range):
        return tree
    return type(tree), tuple(sorted(vars(tree).items()))
