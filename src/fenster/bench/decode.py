"""Decoding speed: sentence by sentence through a long document, and against other programs.

`by_position` shows how the cost of a sentence depends on its position in the document: with windows it does not; if
everything is encoded again, it grows with all that came before. `against` translates the same sentences with the same
beam and token counts with Hugging Face's `generate` and CTranslate2, using models of the same size and shape with
random weights, since speed does not depend on the values of weights.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import torch

from fenster.bench.memory import own_memory
from fenster.data.context import DocumentContext
from fenster.data.tokenizer import Tokenizer
from fenster.decode.config import DecodeConfig, Precision
from fenster.decode.search import LengthConstraints, Searcher, SearchRequest
from fenster.decode.search.compiled import CompiledSearcher
from fenster.decode.search.pytorch.searcher import PytorchSearcher
from fenster.decode.strategies.sequential import Prefix, SequentialStrategy
from fenster.errors import FensterError
from fenster.io.native_library import library
from fenster.model.compiled.conversion import compiled
from fenster.model.config import preset
from fenster.model.description import Description
from fenster.model.model_folder import LoadedModel
from fenster.model.ops.precision import matmul_precision
from fenster.model.transformer import Transformer

VOCABULARY = 15_000
SENTENCE = 25  # tokens of a sentence, source and target


@dataclass(frozen=True)
class SentenceTime:
    """Sentence `number` of a document: seconds with only what it can depend on, seconds with everything, bytes."""

    number: int
    near: float
    whole: float | None
    memory: int


def base(device: torch.device, **changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(preset("base", **changes), VOCABULARY, 1.0).to(device).eval()


def by_position(
    device: torch.device, numbers: list[int], beam: int, naive: int, *, int8: bool = False, repeats: int = 3
) -> Iterator[SentenceTime]:
    """Times in a document of random sentences. Everything is encoded again up to sentence `naive` only."""
    model = base(device, attention={"kind": "window", "window": 20}, positions="relative")
    rng = np.random.default_rng(0)
    sentences = [rng.integers(6, VOCABULARY, SENTENCE).astype(np.uint16) for _ in range(max(numbers))]
    prefix, search = Prefix(sentences), _sentence_search(model, beam, int8)
    for number in range(1, max(numbers) + 1):
        if number in numbers:
            near = min(search(prefix, False) for _ in range(repeats))
            whole = search(prefix, True) if number <= naive else None
            memory = torch.cuda.max_memory_allocated() if device.type == "cuda" else own_memory().now
            yield SentenceTime(number, near, whole, memory)
        prefix.add(sentences[number - 1])


def whole_document(times: Sequence[SentenceTime]) -> tuple[float, float] | None:
    """Seconds of a document up to the last sentence, with only what each can depend on and with everything again:
    summed, and interpolated between the measured sentences; None if one lacks either, or there are fewer than two."""
    if len(times) < 2 or any(time.whole is None for time in times):
        return None
    sentences, numbers = np.arange(1, times[-1].number + 1), [time.number for time in times]
    near, whole = (
        float(np.interp(sentences, numbers, [getattr(time, name) for time in times]).sum())
        for name in ("near", "whole")
    )
    return near, whole


def _searcher(model: Transformer, config: DecodeConfig, int8: bool) -> Searcher:
    """As models are loaded: on a CPU with the compiled library if it is here."""
    if model.device.type == "cuda" or library() is None:
        return PytorchSearcher(model, config)
    network = compiled(model, int8=int8)
    network.threads = torch.get_num_threads()
    return CompiledSearcher(network, config)


def _sentence_search(model: Transformer, beam: int, int8: bool) -> Callable[[Prefix, bool], float]:
    """Seconds of the search for the next sentence, of at most SENTENCE tokens."""
    config = DecodeConfig(strategy="sequential", beam=beam, length_ratio=1e-9, length_extra=SENTENCE - 1)
    context = DocumentContext(limit=None)
    description = Description(model=model.config, vocab_size=VOCABULARY, ratio=1.0, context=context, system="bench")
    strategy = SequentialStrategy(LoadedModel(description, model, cast(Tokenizer, None)), config)
    searcher = _searcher(model, config, int8)

    def seconds(prefix: Prefix, whole: bool) -> float:
        request = strategy.request(prefix, first=0, bod=False, whole=whole)
        if isinstance(searcher, CompiledSearcher):
            searcher.trims_source = not whole
        if model.device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        searcher.search([request])
        return time.perf_counter() - began

    return seconds


@dataclass(frozen=True)
class Speed:
    """Medians over rounds."""

    program: str
    batch: int
    """Sentences at a time."""
    sentences: float
    """Per second."""
    tokens: float
    """Of the target, per second."""
    cpu: float
    """CPU seconds per sentence, of all threads."""


def against(
    device: torch.device,
    count: int,
    beam: int,
    batches: Sequence[int],
    programs: Sequence[str],
    layers: tuple[int, int] = (6, 6),
    rounds: int = 5,
) -> Iterator[Speed]:
    """How fast programs translate the same `count` sentences, so many at a time. They take turns, `rounds` times, so
    that a busy machine disturbs all alike."""
    rng = np.random.default_rng(0)
    sources = [rng.integers(6, VOCABULARY, SENTENCE).tolist() for _ in range(count)]
    threads, translators = torch.get_num_threads(), {}
    for program in programs:
        translators[program] = PROGRAMS[program](device, beam, layers)
        torch.set_num_threads(threads)  # CTranslate2 changes the number for all
    for batch in batches:
        groups = [sources[first : first + batch] for first in range(0, count, batch)]
        for translate in translators.values():
            for _ in range(2):  # kernels and graphs are set up in the first call, memory for both in the second
                translate(groups[0])
        times: dict[str, list[tuple[float, float]]] = {program: [] for program in programs}
        tokens = dict.fromkeys(programs, 0)
        for _ in range(rounds):
            for program, translate in translators.items():
                if device.type == "cuda":
                    torch.cuda.synchronize()
                torch.set_num_threads(threads)
                began, used = time.perf_counter(), time.process_time()
                tokens[program] = sum(map(translate, groups))
                times[program].append((time.perf_counter() - began, time.process_time() - used))
        for program in programs:
            seconds, cpu = (statistics.median(column) for column in zip(*times[program], strict=True))
            yield Speed(program, batch, count / seconds, tokens[program] / seconds, cpu / count)


def _fenster(
    device: torch.device, beam: int, layers: tuple[int, int], precision: Precision = "tf32", int8: bool = False
) -> Any:
    model = base(device, encoder_layers=layers[0], decoder_layers=layers[1])
    searcher = _searcher(model, DecodeConfig(beam=beam, precision=precision), int8)

    def translate(sources: list[list[int]]) -> int:
        limits = LengthConstraints((SENTENCE,), min_tokens=SENTENCE, stop_at_separator=True)
        requests = [SearchRequest([np.array(source)], (), limits) for source in sources]
        return sum(len(hypotheses[0].ids) for hypotheses in searcher.search(requests))

    return translate


def _marian(layers: tuple[int, int]) -> Any:
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        raise FensterError("this comparison needs transformers", fix="pip install transformers") from None
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=layers[0], decoder_layers=layers[1],
        encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, pad_token_id=VOCABULARY - 1,
        eos_token_id=3, bos_token_id=2, decoder_start_token_id=VOCABULARY - 1, forced_eos_token_id=None,
        max_position_embeddings=512, share_encoder_decoder_embeddings=True, scale_embedding=True,
    )  # fmt: skip
    model: Any = MarianMTModel(config)
    return model.eval()


def _hugging_face(device: torch.device, beam: int, layers: tuple[int, int], precision: Precision = "float32") -> Any:
    model = _marian(layers).to(device)

    def translate(sources: list[list[int]]) -> int:
        ids = torch.tensor([[*source, 3] for source in sources], device=device)
        with torch.inference_mode(), matmul_precision(precision, device):
            generated = model.generate(
                ids, num_beams=beam, min_new_tokens=SENTENCE + 1, max_new_tokens=SENTENCE + 1, early_stopping=True
            )
        return int(generated.shape[0]) * (SENTENCE + 1)

    return translate


def _ctranslate2(
    device: torch.device, beam: int, layers: tuple[int, int], kind: str = "float32", workers: bool = False
) -> Any:
    """With one worker that has all threads, or with a worker per thread, among which sentences are divided."""
    try:
        import ctranslate2
        from ctranslate2.converters import TransformersConverter
    except ImportError:
        raise FensterError("this comparison needs ctranslate2", fix="pip install ctranslate2") from None

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_tokenizer(self, *_: object, **__: object) -> _Pieces:
            return _Pieces()

    with tempfile.TemporaryDirectory() as folder:
        _marian(layers).save_pretrained(f"{folder}/marian")
        Converter(f"{folder}/marian").convert(f"{folder}/ct2", quantization=kind)
        threads = torch.get_num_threads()
        inter, intra = (threads, 1) if workers else (1, threads)
        translator = ctranslate2.Translator(
            f"{folder}/ct2", device=device.type, compute_type=kind, inter_threads=inter, intra_threads=intra
        )

    def translate(sources: list[list[int]]) -> int:
        pieces = [[f"p{id}" for id in source] + ["</s>"] for source in sources]
        translated = translator.translate_batch(
            pieces, beam_size=beam, min_decoding_length=SENTENCE, max_decoding_length=SENTENCE,
            max_batch_size=-(-len(pieces) // inter),
        )  # fmt: skip
        return sum(len(result.hypotheses[0]) + 1 for result in translated)

    return translate


PROGRAMS: dict[str, Callable[[torch.device, int, tuple[int, int]], Any]] = {
    "fenster": _fenster,
    "fenster float32": partial(_fenster, precision="float32"),
    "fenster int8": partial(_fenster, int8=True),
    "hugging face": _hugging_face,
    "hugging face tf32": partial(_hugging_face, precision="tf32"),
    "ctranslate2": _ctranslate2,
    "ctranslate2 int8": partial(_ctranslate2, kind="int8"),
    "ctranslate2 int8 workers": partial(_ctranslate2, kind="int8", workers=True),
}


class _Pieces:
    """What CTranslate2's converter asks a tokenizer for: pieces p0, p1, …"""

    bos_token, eos_token, unk_token, pad_token = "<s>", "</s>", "<unk>", "<pad>"

    def get_vocab(self) -> dict[str, int]:
        names = {VOCABULARY - 1: self.pad_token, 1: self.unk_token, 2: self.bos_token, 3: self.eos_token}
        return {names.get(id, f"p{id}"): id for id in range(VOCABULARY)}
