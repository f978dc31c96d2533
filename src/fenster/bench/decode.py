"""Decoding speed: sentence by sentence through a long document, and against other programs.

`by_position` shows what the cost of a sentence depends on: with windows not on its place in the document, with
everything encoded again on all that came before. `against` translates the same sentences with the same beam and the
same token counts with Hugging Face's `generate` and CTranslate2, models of the same size and shape with random
weights: speed does not depend on what weights say.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from fenster.bench.memory import own_memory
from fenster.decode import sequential
from fenster.decode.beam import Limits
from fenster.decode.job import Job, run
from fenster.decode.quantise import quantised
from fenster.decode.sequential import Reading
from fenster.errors import FensterError
from fenster.model import Transformer, preset
from fenster.model.precision import Products, products

VOCABULARY = 15_000
SENTENCE = 25  # tokens of a sentence, source and target


@dataclass(frozen=True)
class Place:
    """Sentence `number` of a document: seconds with only what is in reach, seconds with everything, bytes in use."""

    number: int
    near: float
    whole: float | None
    memory: int


def base(device: torch.device, **changes: Any) -> Transformer:
    torch.manual_seed(0)
    return Transformer(preset("base", **changes), VOCABULARY, 1.0).to(device).eval()


def by_position(
    device: torch.device, numbers: list[int], beam: int, naive: int, *, int8: bool = False, repeats: int = 3
) -> Iterator[Place]:
    """Places in a document of random sentences. Everything is encoded again up to sentence `naive` only."""
    model = base(device, attention={"kind": "window", "window": 20}, positions="relative")
    model = quantised(model) if int8 else model
    rng = np.random.default_rng(0)
    sentences = [rng.integers(6, VOCABULARY, SENTENCE).astype(np.uint16) for _ in range(max(numbers))]
    reading = Reading(sentences)
    for number in range(1, max(numbers) + 1):
        if number in numbers:
            near = min(_timed(model, reading, beam, whole=False) for _ in range(repeats))
            whole = _timed(model, reading, beam, whole=True) if number <= naive else None
            memory = torch.cuda.max_memory_allocated() if device.type == "cuda" else own_memory().now
            yield Place(number, near, whole, memory)
        reading.add(sentences[number - 1])


def whole_document(places: Sequence[Place]) -> tuple[float, float] | None:
    """Seconds of a document up to the last place, in reach only and with everything again: summed over sentences,
    interpolated between places; None where a place lacks one of the two, or there are fewer than two."""
    if len(places) < 2 or any(place.whole is None for place in places):
        return None
    sentences, numbers = np.arange(1, places[-1].number + 1), [place.number for place in places]
    near, whole = (
        float(np.interp(sentences, numbers, [getattr(place, name) for place in places]).sum())
        for name in ("near", "whole")
    )
    return near, whole


def _timed(model: Transformer, reading: Reading, beam: int, *, whole: bool) -> float:
    """Seconds of one sentence of exactly SENTENCE tokens."""
    job = sequential.job(model, reading, SENTENCE, first=0, whole=whole)
    if model.embedding.weight.is_cuda:
        torch.cuda.synchronize()
    began = time.perf_counter()
    run(model, [job], beam=beam, normalisation=1.0, alignment=None)
    return time.perf_counter() - began


@dataclass(frozen=True)
class Speed:
    program: str
    sentences: float
    tokens: float
    memory: int


def against(device: torch.device, count: int, beam: int, batch: int, programs: list[str]) -> Iterator[Speed]:
    """Sentences a second and target tokens a second of each program, on `count` sentences, `batch` at a time."""
    rng = np.random.default_rng(0)
    sources = [rng.integers(6, VOCABULARY, SENTENCE).tolist() for _ in range(count)]
    for program in programs:
        translate = PROGRAMS[program](device, beam)
        for _ in range(2):  # what is set up once: kernels and graphs in the first call, memory for both in the second
            translate(sources[:batch])
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        tokens = sum(translate(sources[first : first + batch]) for first in range(0, count, batch))
        seconds = time.perf_counter() - began
        memory = torch.cuda.max_memory_allocated() if device.type == "cuda" else own_memory().now
        yield Speed(program, count / seconds, tokens / seconds, memory)


def _int8(device: torch.device, beam: int) -> Any:
    return _fenster(device, beam, quantised(base(device)))


def _fenster(device: torch.device, beam: int, model: Transformer | None = None, precision: Products = "tf32") -> Any:
    model = model or base(device)

    def translate(sources: list[list[int]]) -> int:
        limits = Limits((SENTENCE,), least=SENTENCE, one=True)
        jobs = [Job([np.array(source)], (), limits) for source in sources]
        found = run(model, jobs, beam=beam, normalisation=1.0, alignment=None, precision=precision)
        return sum(len(each[0].ids) for each in found)

    return translate


def _marian() -> Any:
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        raise FensterError("this comparison needs transformers", fix="pip install transformers") from None
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, pad_token_id=VOCABULARY - 1,
        eos_token_id=3, bos_token_id=2, decoder_start_token_id=VOCABULARY - 1, forced_eos_token_id=None,
        max_position_embeddings=512, share_encoder_decoder_embeddings=True, scale_embedding=True,
    )  # fmt: skip
    return MarianMTModel(config).eval()


def _hugging_face(device: torch.device, beam: int, precision: Products = "float32") -> Any:
    model = _marian().to(device)

    def translate(sources: list[list[int]]) -> int:
        ids = torch.tensor([[*source, 3] for source in sources], device=device)
        with torch.inference_mode(), products(precision, device):
            found = model.generate(
                ids, num_beams=beam, min_new_tokens=SENTENCE + 1, max_new_tokens=SENTENCE + 1, early_stopping=True
            )
        return int(found.shape[0]) * (SENTENCE + 1)

    return translate


def _ctranslate2(device: torch.device, beam: int) -> Any:
    try:
        import ctranslate2
        from ctranslate2.converters import TransformersConverter
    except ImportError:
        raise FensterError("this comparison needs ctranslate2", fix="pip install ctranslate2") from None

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_tokenizer(self, *_: object, **__: object) -> _Pieces:
            return _Pieces()

    with tempfile.TemporaryDirectory() as folder:
        _marian().save_pretrained(f"{folder}/marian")
        Converter(f"{folder}/marian").convert(f"{folder}/ct2", quantization="float32")
        translator = ctranslate2.Translator(
            f"{folder}/ct2", device=device.type, compute_type="float32", inter_threads=1,
            intra_threads=torch.get_num_threads(),
        )  # fmt: skip

    def translate(sources: list[list[int]]) -> int:
        pieces = [[f"p{id}" for id in source] + ["</s>"] for source in sources]
        found = translator.translate_batch(
            pieces, beam_size=beam, min_decoding_length=SENTENCE, max_decoding_length=SENTENCE
        )
        return sum(len(each.hypotheses[0]) + 1 for each in found)

    return translate


PROGRAMS: dict[str, Callable[[torch.device, int], Any]] = {
    "fenster": _fenster,
    "fenster float32": partial(_fenster, precision="float32"),
    "fenster int8": _int8,
    "hugging face": _hugging_face,
    "hugging face tf32": partial(_hugging_face, precision="tf32"),
    "ctranslate2": _ctranslate2,
}


class _Pieces:
    """What CTranslate2's converter asks a tokenizer for: pieces p0, p1, …"""

    bos_token, eos_token, unk_token, pad_token = "<s>", "</s>", "<unk>", "<pad>"

    def get_vocab(self) -> dict[str, int]:
        names = {VOCABULARY - 1: self.pad_token, 1: self.unk_token, 2: self.bos_token, 3: self.eos_token}
        return {names.get(id, f"p{id}"): id for id in range(VOCABULARY)}
