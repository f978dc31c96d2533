from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fenster.data.batch import Batch
from fenster.data.context import DocumentContext
from fenster.data.dataset import PreparedData
from fenster.data.examples import ExampleIndex
from fenster.data.tokenizer import BOS_ID, PAD_ID
from fenster.errors import ConfigError
from fenster.model.attention.alignment import ALIGNMENTS
from fenster.model.attention.probe import Probe
from fenster.model.config import ModelConfig, preset
from fenster.model.layout import Layout
from fenster.model.loss import rdrop_loss, smoothed_loss, token_nll
from fenster.model.transformer import Transformer, shift_right
from tests.helpers.transformers import SOURCE, TARGET, VARIANTS, make, some_batch


@pytest.mark.parametrize(
    ("changes", "vocabulary", "millions"),
    [
        ({}, 15_000, 51.8),
        ({}, 32_000, 60.5),
        ({"attention": {"kind": "lst"}}, 15_000, 51.8 + 3.15),
        ({"attention": {"kind": "window"}, "positions": "relative"}, 15_000, 51.8 + 0.25),
    ],
)
def test_parameters_of_the_base_model(changes: dict[str, Any], vocabulary: int, millions: float) -> None:
    with torch.device("meta"):
        model = Transformer(preset("base", **changes), vocabulary)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.06)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_batch_gives_what_its_sequences_give_alone(name: str, norm: str) -> None:
    model = make(name, norm=norm)
    ids, wanted, source, target = some_batch()
    together = model(ids, wanted, source, target)
    for b in range(2):
        s, t = (slice(int(side.offsets[b]), int(side.offsets[b + 1])) for side in (source, target))
        alone = model(
            ids[s], wanted[t], Layout.from_sentence_lengths([SOURCE[b]]), Layout.from_sentence_lengths([TARGET[b]])
        )
        torch.testing.assert_close(together[t], alone)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_future_is_not_seen(name: str) -> None:
    model = make(name)
    ids, wanted, source, target = some_batch()
    before = model(ids, wanted, source, target)
    changed = wanted.clone()
    changed[6] = 7 if int(wanted[6]) != 7 else 8  # a word: separators would move the sentences
    after = model(ids, changed, source, target)
    torch.testing.assert_close(before[:7], after[:7])
    assert not torch.allclose(before[7:10], after[7:10])


@pytest.mark.parametrize(("name", "alignment"), list(product(VARIANTS, ALIGNMENTS)))
def test_step_by_step_equals_the_whole(name: str, alignment: str) -> None:
    """Every variant and alignment, hypotheses reordered at every step as a beam search does."""
    model = make(name)
    ids, wanted, source, target = some_batch()
    aligned = model.alignment(alignment)
    whole = model(ids, wanted, source, target, alignment=aligned)
    memory = model.encode(ids, source)
    order = torch.tensor([0, 1, 1, 0])
    state = model.begin(memory, source, order, alignment=aligned, target=target)
    previous = torch.full((4,), BOS_ID)
    for i in range(target.longest):
        hidden, state = model.step(previous, state)
        inside = i < target.lengths[order]
        torch.testing.assert_close(hidden[inside], whole[target.offsets[order[inside]] + i])
        index = torch.tensor([3, 0, 1, 2])
        state, order = state.reorder(index), order[index]
        previous = wanted[(target.offsets[order] + i).clamp(max=target.tokens - 1)]


@pytest.mark.parametrize("name", list(VARIANTS))
def test_old_states_stay_good(name: str) -> None:
    """Two ways on from one state do not disturb each other, neighbours of a lane included."""
    model = make(name)
    ids, _, source, _ = some_batch()
    memory = model.encode(ids, source)

    def said(*tokens: tuple[int, int, int, int]) -> torch.Tensor:
        state = model.begin(memory, source, torch.tensor([0, 0, 1, 1]))
        for token in ((BOS_ID,) * 4, *tokens):
            hidden, state = model.step(torch.tensor(token), state)
        return hidden

    state = model.begin(memory, source, torch.tensor([0, 1]))
    _, state = model.step(torch.full((2,), BOS_ID), state)
    first = state.reorder(torch.tensor([0, 0, 1, 1]), 2)
    _, one = model.step(torch.tensor([7, 8, 9, 10]), first)
    _, two = model.step(torch.tensor([17, 18, 19, 20]), first)
    hidden, _ = model.step(torch.tensor([11, 12, 13, 14]), one)
    torch.testing.assert_close(hidden, said((7, 8, 9, 10), (11, 12, 13, 14)))
    crossed = one.reorder(torch.tensor([1, 1, 3, 2]), 2)
    hidden, _ = model.step(torch.tensor([11, 12, 13, 14]), crossed)
    torch.testing.assert_close(hidden, said((8, 8, 10, 9), (11, 12, 13, 14)))
    hidden, _ = model.step(torch.tensor([11, 12, 13, 14]), two)
    torch.testing.assert_close(hidden, said((17, 18, 19, 20), (11, 12, 13, 14)))


def test_window_state_does_not_grow() -> None:
    model = make("window-relative")
    source = Layout.from_sentence_lengths([[30]])
    memory = model.encode(torch.full((30,), 9), source)
    state = model.begin(memory, source, torch.tensor([0]))
    sizes = []
    for _ in range(40):
        _, state = model.step(torch.tensor([9]), state)
        sizes.append(state.self_cache.kv[0].numel())
    assert set(sizes) == {2 * 4 * 64}


def gradient_reach(model: Transformer, source_tokens: int, output: int) -> torch.Tensor:
    """Which source embeddings the encoder's output at one place depends on."""
    source = Layout.from_sentence_lengths([[source_tokens]])
    ids = torch.randint(6, 40, (source_tokens,), generator=torch.Generator().manual_seed(1))
    embedded = (model.embedding(ids) * 8).detach().requires_grad_()
    model._embed = lambda ids, position: embedded  # type: ignore[method-assign]
    hidden = model.encode(ids, source)
    (gradient,) = torch.autograd.grad(hidden[output].sum() + hidden[output].square().sum(), embedded)
    return gradient.abs().sum(-1) > 0


@pytest.mark.parametrize("layers", [1, 2, 6])
def test_the_encoder_reaches_w_tokens_a_layer_each_way(layers: int) -> None:
    model = make("window-relative", encoder_layers=layers)
    reached = gradient_reach(model, 60, 30).nonzero().squeeze(1)
    assert (int(reached.min()), int(reached.max())) == (30 - 3 * layers, 30 + 3 * layers)
    assert len(reached) == 6 * layers + 1


@pytest.mark.parametrize("layers", [1, 3])
def test_the_decoder_reaches_back_w_tokens_a_layer(layers: int) -> None:
    """Target tokens beyond w * layers do not matter, those within do; the source is the same for all."""
    model = make("window-relative", decoder_layers=layers)
    source, target = Layout.from_sentence_lengths([[40]]), Layout.from_sentence_lengths([[40]])
    ids, wanted = (torch.randint(6, 40, (40,), generator=torch.Generator().manual_seed(s)) for s in (1, 2))
    before = model(ids, wanted, source, target)[30]

    def changed(place: int) -> bool:
        other = wanted.clone()
        other[place] = 6 if int(wanted[place]) != 6 else 7
        return not torch.equal(model(ids, other, source, target)[30], before)

    # hidden[30] reads input 30, which is token 29, and w * layers inputs before it.
    assert [changed(place) for place in (30, 29, 29 - 3 * layers, 28 - 3 * layers, 5)] == [
        False, True, True, False, False,
    ]  # fmt: skip


def test_source_beyond_the_reach_changes_nothing() -> None:
    """Cross-attention windows and the encoder's reach together: w * (1 + layers) around b_i."""
    model = make("window-relative", encoder_layers=2, decoder_layers=1)
    source, target = Layout.from_sentence_lengths([[60]]), Layout.from_sentence_lengths([[60]])
    ids, wanted = (torch.randint(6, 40, (60,), generator=torch.Generator().manual_seed(s)) for s in (3, 4))
    before = model(ids, wanted, source, target)[30]
    for place, same in ((30 + 10, True), (30 + 9, False), (30, False), (30 - 9, False), (30 - 10, True)):
        other = ids.clone()
        other[place] = 6 if int(ids[place]) != 6 else 7
        assert torch.equal(model(other, wanted, source, target)[30], before) == same, place


def test_relative_models_do_not_know_where_they_are() -> None:
    model = make("window-relative")
    assert make("window").config.positions == "sinusoidal"
    ids = torch.randint(6, 40, (50,), generator=torch.Generator().manual_seed(5))
    long, short = Layout.from_sentence_lengths([[50]]), Layout.from_sentence_lengths([[40]])
    inside = model.encode(ids, long)[20:35]
    torch.testing.assert_close(inside, model.encode(ids[10:], short)[10:25])


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_the_chunked_loss_is_pytorchs(smoothing: float, chunk: int) -> None:
    torch.manual_seed(1)
    hidden = torch.randn(23, 8, requires_grad=True)
    weight = torch.randn(31, 8, requires_grad=True)
    target = torch.randint(0, 31, (23,))
    assert PAD_ID in target
    loss = smoothed_loss(hidden, weight, target, smoothing, chunk=chunk)
    entropy = partial(F.cross_entropy, hidden @ weight.t(), target, ignore_index=PAD_ID)
    plain = entropy(label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss.smoothed, plain)
    torch.testing.assert_close(loss.nll, entropy(reduction="sum"))
    real = target != PAD_ID
    torch.testing.assert_close(token_nll(hidden, weight, target, chunk)[real], entropy(reduction="none")[real])
    found = torch.autograd.grad(3 * loss.smoothed, (hidden, weight))
    wanted = torch.autograd.grad(3 * plain, (hidden, weight))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_rdrop_is_the_papers_loss_in_half(chunk: int) -> None:
    torch.manual_seed(1)
    passes = torch.randn(2, 23, 8, requires_grad=True)
    weight = torch.randn(31, 8, requires_grad=True)
    target = torch.randint(0, 31, (23,))
    real = target != PAD_ID
    loss = rdrop_loss(passes, weight, target, 0.1, 5.0, chunk=chunk)
    logits = passes @ weight.t()
    entropy = [
        F.cross_entropy(one, target, ignore_index=PAD_ID, label_smoothing=0.1, reduction="sum") for one in logits
    ]
    log_p = logits.log_softmax(-1)[:, real]
    apart = [F.kl_div(log_p[a], log_p[1 - a], reduction="sum", log_target=True) for a in (0, 1)]
    plain = (torch.stack(entropy).sum() + 5.0 * torch.stack(apart).sum() / 2) / 2
    torch.testing.assert_close(loss.smoothed, plain)
    found = torch.autograd.grad(3 * loss.smoothed, (passes, weight))
    wanted = torch.autograd.grad(3 * plain, (passes, weight))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    alike = rdrop_loss(torch.stack((passes[0], passes[0])), weight, target, 0.1, 5.0)
    torch.testing.assert_close(tuple(alike), tuple(smoothed_loss(passes[0], weight, target, 0.1)))


def test_decoder_inputs_are_shifted_within_each_sequence() -> None:
    packed = Layout.from_sentence_lengths([[3], [2]])
    assert shift_right(torch.tensor([7, 8, 3, 9, 3]), packed).tolist() == [BOS_ID, 7, 8, BOS_ID, 9]


@pytest.mark.parametrize("name", VARIANTS)
def test_probe_share_and_entropy(name: str) -> None:
    model = make(name)
    ids, wanted, source, target = some_batch()
    probe = Probe(keep_weights=True)
    probed = model(ids, wanted, source, target, probe=probe)
    torch.testing.assert_close(probed, model(ids, wanted, source, target))
    cross = probe.weights["decoder.1.cross"][0]  # [H, T, S]
    expected = torch.stack([
        torch.stack([cross[h, t, s] for s in range(source.tokens)
            if source.sequence_id[s] == target.sequence_id[t] and source.sentence[s] == target.sentence[t]]).sum()
        for h in range(4) for t in range(target.tokens)
    ]).view(4, -1).mean(1)  # fmt: skip
    torch.testing.assert_close(probe.share("decoder.1.cross"), expected)
    assert (probe.entropy("decoder.1.cross") > 0).all()
    assert 0 < probe.cross_share()[0] < 1


def test_a_single_sentence_has_all_its_attention() -> None:
    model = make("full")
    side = Layout.from_sentence_lengths([[6]])
    probe = Probe()
    model(torch.full((6,), 9), torch.full((6,), 9), side, side, probe=probe)
    assert probe.cross_share() == pytest.approx((1.0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_model_learns_from_prepared_documents(name: str, toy: PreparedData) -> None:
    """From shards to a falling loss: the whole path, a few steps."""
    torch.manual_seed(0)
    model = Transformer(preset("tiny", **{**VARIANTS[name], "dropout": 0.0}), len(toy.tokenizer))
    index = ExampleIndex.build(toy.split("train"), DocumentContext(limit=200))
    batch = Batch.read(index, np.arange(8))
    source, target = Layout.of(batch.source), Layout.of(batch.target)
    ids, wanted = (torch.from_numpy(side.ids).long() for side in (batch.source, batch.target))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(25):
        loss = smoothed_loss(model(ids, wanted, source, target), model.embedding.weight, wanted, 0.1)
        optimizer.zero_grad()
        (loss.smoothed / target.tokens).backward()
        optimizer.step()
        losses.append(float(loss.nll.detach()) / target.tokens)
    assert losses[-1] < 0.6 * losses[0]
    assert all(p.grad is not None for p in model.parameters())


def test_a_window_model_equals_itself_under_every_computation() -> None:
    ids, wanted, source, target = some_batch()
    outputs = [
        make("window-relative", backend=name)(ids, wanted, source, target)
        for name in ("reference", "gather", "block", "dense", "auto")
    ]
    for out in outputs[1:]:
        torch.testing.assert_close(out, outputs[0])


def test_checkpointing_changes_memory_not_results() -> None:
    """The same gradients, dropout included, and what is not kept runs a second time in the backward pass."""
    ids, wanted, source, target = some_batch()
    gradients, calls = [], []
    for checkpointing in ("none", "ffn", "layers"):
        model = make("window-relative", dropout=0.3, activation_dropout=0.3).train()
        model.checkpointing = checkpointing
        ran: list[str] = []
        for name in ("up", "down"):
            part = getattr(model.decoder[0].ffn, name)
            part.register_forward_hook(lambda *_, ran=ran, name=name: ran.append(name))
        torch.manual_seed(3)
        model(ids, wanted, source, target).square().sum().backward()
        gradients.append([p.grad for p in model.parameters()])
        calls.append((ran.count("up"), ran.count("down")))
    assert calls[:2] == [(1, 1), (2, 1)] and calls[2][0] == 2
    for plain, *others in zip(*gradients, strict=True):
        for other in others:
            torch.testing.assert_close(other, plain)


def test_ids_may_come_as_the_batch_has_them() -> None:
    loss = smoothed_loss(torch.randn(3, 4), torch.randn(9, 4), torch.tensor([1, 2, 3], dtype=torch.int32), 0.1)
    assert torch.isfinite(loss.nll)


def test_second_derivatives_are_refused_rather_than_zero() -> None:
    hidden, weight = torch.randn(3, 4, requires_grad=True), torch.randn(9, 4)
    loss = smoothed_loss(hidden, weight, torch.tensor([1, 2, 3]), 0.1).smoothed
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(loss, hidden, create_graph=True)


def test_no_hypothesis_is_no_error() -> None:
    model = make("window-relative")
    source = Layout.from_sentence_lengths([[5]])
    state = model.begin(model.encode(torch.full((5,), 9), source), source, torch.tensor([0]))
    _, state = model.step(torch.tensor([BOS_ID]), state)
    none = torch.zeros(0, dtype=torch.long)
    hidden, _ = model.step(none, state.reorder(none))
    assert hidden.shape == (0, 64)


def test_config_faults() -> None:
    with pytest.raises(ConfigError, match="unknown preset 'huge'"):
        preset("huge")
    with pytest.raises(ConfigError, match=r"attention\.windw: unknown key; did you mean 'window'"):
        preset("tiny", attention={"kind": "window", "windw": 3})
    with pytest.raises(ConfigError, match=r"attention\.decoding_alignment: .*unknown alignment for decoding"):
        preset("tiny", attention={"kind": "window", "decoding_alignment": "linear"})
    with pytest.raises(
        ConfigError, match=r"backend: .*known: window-gpu, window-cpu, varlen, block, dense, gather, reference"
    ):
        preset("tiny", backend="flash")
    with pytest.raises(ConfigError, match="divisible"):
        preset("tiny", heads=5)
    with pytest.raises(ConfigError, match="not defined for lst"):
        preset("tiny", positions="relative", attention={"kind": "lst"})
    assert ModelConfig() == preset("base")
