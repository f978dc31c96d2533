"""A function of tensors with its own gradient, for eager code and for `torch.compile` alike.

The compiler takes custom operators as they are, but calling one eagerly costs several times what launching its kernel
does; eager code therefore calls the same functions through a plain autograd function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import once_differentiable

Run = Callable[..., Any]


class CustomOp:
    """`forward` and `backward` with annotated arguments (the operators' schemas), `shapes` of either that give empty
    outputs, and the glue: `save(ctx, inputs, output)`, and `differentiate(ctx, backward, *dy)`, which calls
    the `backward` that it is given."""

    def __init__(
        self,
        name: str,
        forward: Run,
        backward: Run,
        *,
        shapes: tuple[Run, Run],
        save: Callable[[Any, tuple[Any, ...], Any], None],
        differentiate: Run,
    ) -> None:
        there = torch.library.custom_op(f"fenster::{name}", forward, mutates_args=())
        back = torch.library.custom_op(f"fenster::{name}_backward", backward, mutates_args=())
        there.register_fake(shapes[0])
        back.register_fake(shapes[1])
        there.register_autograd(lambda ctx, *dy: differentiate(ctx, back, *dy), setup_context=save)
        self._compiled = getattr(torch.ops.fenster, name).default

        class Eager(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                output = forward(*inputs)
                ctx.set_materialize_grads(False)  # of outputs without a gradient
                save(ctx, inputs, output)
                return output

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, *dy: Any) -> Any:
                if dy[0] is None:  # what comes after has no gradient
                    return (None,) * len(ctx.needs_input_grad)
                return differentiate(ctx, backward, *dy)

        self._plain, self._eager = forward, Eager

    def __call__(self, *inputs: Any) -> Any:
        if torch.compiler.is_compiling():
            return self._compiled(*inputs)
        if not torch.is_grad_enabled():
            return self._plain(*inputs)
        return self._eager.apply(*inputs)  # type: ignore[no-untyped-call]
