"""One update: forward, backward, clip, Adam. Nothing here waits for the device; `read` does.

- The gradient is that of the summed loss; Adam's own scaling divides it by the tokens of all processes and clips it.
- An update whose gradient is not finite is skipped by Adam itself, on the device, and counted there.
- Dropout, of words too, follows from (seed, update, batch of the update), so a resumed run needs no generator state,
  and several processes draw what one would.
- On one GPU whole steps are replayed as CUDA graphs, one for each shape of inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from fenster.data.tokenizer import BOD_ID, UNK_ID
from fenster.errors import FensterError
from fenster.model.attention.backends.dense import keep_eager
from fenster.model.loss import ChunkLoss, Loss, chunk_loss, rdrop_chunk_loss, rdrop_loss, smoothed_loss
from fenster.model.ops.torch_private import lerp_all_, scaled_step
from fenster.model.transformer import Transformer
from fenster.train.config import OptimizerConfig, Switch, TrainConfig
from fenster.train.distributed import World
from fenster.train.inputs import Inputs

_MOST_GRAPHS = 128  # shapes beyond these run without a graph


class MeterReadings(NamedTuple):
    """Sums since the last reading, over all processes."""

    smoothed: float
    nll: float
    tokens: float
    norm: float
    updates: float
    skipped: float
    in_a_row: float
    """Most updates skipped one after the other."""


class Objective(nn.Module):
    """The loss of a batch as a module of its own, so that distributed training can wrap it."""

    def __init__(self, model: Transformer, settings: OptimizerConfig, compiled: bool, n_symbols: int) -> None:
        super().__init__()
        self.model, self._settings, self._n_symbols = model, settings, n_symbols
        self._chunk_loss: ChunkLoss = rdrop_chunk_loss if settings.rdrop else chunk_loss
        if compiled:
            keep_eager()
            self._chunk_loss = torch.compile(self._chunk_loss, dynamic=True)
            # Layer by layer: one short compilation serves all layers of a kind, at any length.
            for layer in (*model.encoder, *model.decoder):
                layer.compile(dynamic=True)

    def forward(self, inputs: Inputs) -> Loss:
        settings, weight, gold = self._settings, self.model.embedding.weight, inputs.target_ids
        if not settings.rdrop:
            return smoothed_loss(
                self._hidden(inputs), weight, gold, settings.smoothing, loss_of_chunk=self._chunk_loss
            )
        passes = torch.stack((self._hidden(inputs), self._hidden(inputs)))  # [2, T, d_model]; dropout differs
        return rdrop_loss(passes, weight, gold, settings.smoothing, settings.rdrop, loss_of_chunk=self._chunk_loss)

    def _hidden(self, inputs: Inputs) -> Tensor:
        source_ids = word_dropout(inputs.source_ids, self._settings.word_dropout, self._n_symbols)
        hidden: Tensor = self.model(source_ids, inputs.target_ids, inputs.source, inputs.target)
        return hidden


def word_dropout(ids: Tensor, share: float, n_symbols: int) -> Tensor:  # [S] -> [S]
    """A random share of the ids becomes `<unk>`; control symbols, which are below `n_symbols`, stay."""
    if not share:
        return ids
    hidden = torch.rand(ids.shape, device=ids.device) < share
    return torch.where(hidden & (ids >= n_symbols), UNK_ID, ids)


class Engine:
    def __init__(self, model: Transformer, config: TrainConfig, world: World, *, n_symbols: int = BOD_ID + 1) -> None:
        """`model` has the weights that training starts from, which an anchor pulls towards; ids below `n_symbols` are
        the tokenizer's control symbols."""
        self.model, self.world, self._config = model, world, config
        model.checkpointing = config.checkpointing
        settings = config.optimizer
        cuda = world.device.type == "cuda"
        self.autocast = autocasting(config.precision, world.device)
        # Checkpointing of layers sets the generator back to where it was, which no graph can record.
        can = cuda and world.ranks == 1 and config.checkpointing != "layers"
        self._graphs = _switch(config.graphs, can)
        if self._graphs and not can:
            raise FensterError(
                "graphs: on needs one process on a GPU, without checkpointing: layers", fix="use graphs: auto"
            )
        self.pad_multiple = max(128, config.batch.tokens // 16) if self._graphs else None
        objective = Objective(model, settings, _switch(config.compile, cuda), n_symbols)
        self._objective: nn.Module = objective if world.ranks == 1 else DistributedDataParallel(objective)
        self.parameters = dict(model.named_parameters())
        self.optimizer = torch.optim.Adam(
            self.parameters.values(), lr=settings.lr, betas=settings.betas, eps=settings.epsilon, fused=True
        )
        self.ema = {n: p.detach().clone() for n, p in self.parameters.items()} if config.average.ema else None
        self._anchor = [p.detach().clone() for p in self.parameters.values()] if settings.anchor else None
        self._sums = torch.zeros(2, device=world.device, dtype=torch.float64)  # of the update under way
        self.meter = torch.zeros(len(MeterReadings._fields) + 1, device=world.device, dtype=torch.float64)
        self._stream = torch.cuda.Stream(world.device) if self._graphs else None  # type: ignore[no-untyped-call]
        self._captured: dict[tuple[object, ...], tuple[torch.cuda.CUDAGraph, Inputs] | None] = {}
        self._pool = torch.cuda.graph_pool_handle() if self._graphs else None

    def lr(self, update: int) -> float:
        """Learning rate of update 1, 2, …"""
        settings = self._config.optimizer
        lr = settings.lr * min(update / settings.warmup, math.sqrt(settings.warmup / update))
        end = self._config.stop.updates
        if settings.cooldown is None or end is None:
            return lr
        return lr * min(1.0, (end + 1 - update) / settings.cooldown)

    def update(self, number: int, batches: Sequence[Inputs], tokens: int) -> None:
        """Update `number` (from 1) on this process' batches; `tokens` are the target tokens of all processes."""
        with self._own_stream():
            self._sums.zero_()
            for index, inputs in enumerate(batches):
                torch.manual_seed(self._dropout_seed(number, index))
                last = index == len(batches) - 1
                quiet = nullcontext() if last else self._unsynchronised()
                with quiet:
                    self._step(inputs)
            self._apply(number, tokens)

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """Graphs must be captured on a stream of their own; whoever comes before and after waits for it."""
        if self._stream is None:
            yield
            return
        around = torch.cuda.current_stream()
        self._stream.wait_stream(around)
        with torch.cuda.stream(self._stream):
            yield
        around.wait_stream(self._stream)

    def read(self) -> MeterReadings:
        """Sums since the last reading; waits for the device."""
        smoothed, nll, tokens, norm, updates, skipped, _, worst = self.meter.tolist()
        self.meter[:6].zero_()
        self.meter[7].zero_()
        smoothed, nll = self.world.sum(smoothed, nll)
        return MeterReadings(smoothed, nll, tokens, norm, updates, skipped, worst)

    def whole_meter(self) -> Tensor:
        """The meter with the losses of all processes, to be kept in a checkpoint."""
        meter = self.meter.to("cpu", copy=True)
        meter[:2] = torch.tensor(self.world.sum(*meter[:2].tolist()), dtype=meter.dtype)
        return meter

    def set_meter(self, meter: Tensor) -> None:
        """Go on from `whole_meter`, on any number of processes."""
        self.meter.copy_(meter)
        if not self.world.main:
            self.meter[:2].zero_()

    def _dropout_seed(self, update: int, index: int) -> int:
        batch = index * self.world.ranks + self.world.rank
        return ((self._config.seed << 40) + (update << 12) + batch) % (1 << 63)

    def _unsynchronised(self) -> AbstractContextManager[None]:
        if isinstance(self._objective, DistributedDataParallel):
            return self._objective.no_sync()
        return nullcontext()

    def _step(self, inputs: Inputs) -> None:
        """Accumulate a batch's gradient and losses."""
        if not self._graphs:
            return self._plain_step(inputs.to(self.world.device))
        shape = inputs.shape
        if shape not in self._captured:
            # The first time as it is: this also compiles what a capture could not.
            if len(self._captured) < _MOST_GRAPHS:
                self._captured[shape] = None
            return self._plain_step(inputs.to(self.world.device))
        captured = self._captured[shape]
        if captured is None:
            fixed = inputs.to(self.world.device)
            graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            # Other threads (the loader, which pins memory) may call CUDA meanwhile.
            with torch.cuda.graph(graph, self._pool, self._stream, capture_error_mode="thread_local"):
                self._plain_step(fixed)
            self._captured[shape] = captured = graph, fixed
        graph, fixed = captured
        inputs.copy_into(fixed)
        return graph.replay()

    def _plain_step(self, inputs: Inputs) -> None:
        with self.autocast():
            loss: Loss = self._objective(inputs)
        torch.autograd.backward(loss.smoothed)
        self._sums += torch.stack([loss.smoothed.detach(), loss.nll])

    def _apply(self, number: int, tokens: int) -> None:
        settings = self._config.optimizer
        gradients = [p.grad for p in self.parameters.values() if p.grad is not None]
        mean = self.world.ranks / tokens  # distributed training has divided by the ranks
        norm = torch.nn.utils.get_total_norm(gradients, foreach=True).mul_(mean)
        good = torch.isfinite(norm)
        shrink = 1.0 if settings.clip is None else (settings.clip / (norm + 1e-6)).clamp(max=1)
        scale = torch.where(good, shrink * mean, 1).reciprocal().float()
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr(number)
        scaled_step(self.optimizer, scale, (~good).float())
        if self._anchor is not None:
            share = min(1.0, self.lr(number) * settings.anchor)
            lerp_all_([p.detach() for p in self.parameters.values()], self._anchor, share)
        self.optimizer.zero_grad(set_to_none=not self._graphs)  # graphs accumulate gradients in place
        if self.ema is not None:
            decay = self._config.average.ema
            assert decay is not None
            lerp_all_([*self.ema.values()], [p.detach() for p in self.parameters.values()], 1 - decay)
        self._count(good, norm, tokens)

    def _count(self, good: Tensor, norm: Tensor, tokens: int) -> None:
        meter, row, worst = self.meter, self.meter[6], self.meter[7]
        meter[:2] += torch.where(good, self._sums, 0)
        meter[2] += good * tokens
        meter[3] += torch.where(good, norm, 0)
        meter[4] += good
        meter[5] += ~good
        row.copy_(torch.where(good, 0, row + 1))
        worst.copy_(torch.maximum(row, worst))


def autocasting(precision: str, device: torch.device) -> Callable[[], torch.autocast]:
    """A maker of autocast contexts, which do nothing in float32."""
    enabled = precision == "bfloat16" or (precision == "auto" and device.type == "cuda")
    # Without its cache of cast weights: a graph must not hold on to what was cast outside it.
    return partial(torch.autocast, device.type, torch.bfloat16, enabled=enabled, cache_enabled=False)


def _switch(value: Switch, auto: bool) -> bool:
    return auto if value == "auto" else value == "on"
