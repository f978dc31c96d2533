"""Text to ids and back: one joint BPE model (sentencepiece) for both languages.

Control symbols have ids of their own that no user text can produce: a literal "<sep>" in text becomes pieces
like any other characters. Characters without a piece are spelt in bytes, so nothing is ever lost. No
normalisation happens here beyond what `data.text.normalise` did: letters stay what they were.

Encoding goes word by word through a cache. That is exact, not an approximation: no piece of our models
crosses a space, so no merge does either; it is several times faster than encoding whole sentences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sentencepiece
from pydantic import Field

from fenster.config import Config
from fenster.data.text import BOD, BOS, EOS, PAD, SEP, UNK
from fenster.errors import FensterError, InputError
from fenster.io.files import atomic_path
from fenster.language import REGISTERS, Register
from fenster.language.protected_text import PLACEHOLDERS, Marked, Placeholder

Ids = npt.NDArray[np.unsignedinteger[Any]]
Longs = npt.NDArray[np.int64]

_SPACE = "\u2581"  # how sentencepiece writes a space inside pieces
_ESCAPE = "\ue2b1"  # a private-use character
_CACHED_WORDS = 1 << 13  # bounds memory; the cache starts over when full
_PIECES = 1024  # read from sentencepiece at a time
_LEARNING_THREADS = 16  # written into the model, so it must not depend on the machine

PAD_ID, UNK_ID, BOS_ID, EOS_ID, SEP_ID, BOD_ID = range(6)
# Further control symbols, from BOD_ID + 1 on, if the tokenizer was learned with `symbols`.
_PLACEHOLDERS = [Placeholder(kind, number) for kind, count in PLACEHOLDERS.items() for number in range(count)]
_SYMBOLS = [*(placeholder.symbol for placeholder in _PLACEHOLDERS), *(f"<{register}>" for register in REGISTERS)]


class TokenizerConfig(Config):
    """Joint BPE over both languages (sentencepiece)."""

    model: Path | None = None
    """Use this trained model instead of learning one; the settings below are then ignored."""
    vocab_size: int = Field(default=15_000, ge=300)
    """15k as in the paper's NEWS and TED; 32k for large corpora."""
    sample: int = Field(default=1_000_000, ge=1)
    """Learn from at most this many sentences (both sides together), drawn evenly; bounds memory."""
    character_coverage: float = Field(default=1.0, ge=0.98, le=1)
    """Share of characters that get a piece of their own; the rest is spelt in bytes, never lost."""
    symbols: bool = False
    """Also reserve symbols for protected text (placeholders) and for the register: what `prepare.augment` needs."""
    seed: int = 1


def _escaped(word: str) -> str:
    """sentencepiece takes its own space sign in text for a space: write it in two characters instead."""
    return word.replace(_ESCAPE, _ESCAPE + "e").replace(_SPACE, _ESCAPE + "s")


def _unescaped(text: str) -> str:
    return text.replace(_ESCAPE + "s", _SPACE).replace(_ESCAPE + "e", _ESCAPE)


class _Words(dict[str, bytes]):
    """The ids of each word met so far, as the bytes of an array, so that joining them is a plain copy."""

    def __init__(self, processor: Any, dtype: np.dtype[Any]) -> None:
        self._processor, self._dtype = processor, dtype

    def __missing__(self, word: str) -> bytes:
        ids = self[word] = np.array(self._processor.Encode(_escaped(word)), dtype=self._dtype).tobytes()
        return ids


class Tokenizer:
    """A trained subword model. Works on single texts; documents are joined by `context`."""

    def __init__(self, model: bytes, cached_words: int = _CACHED_WORDS) -> None:
        """`cached_words`: how many words are looked up only once; more need more memory."""
        self.model, self._cached_words = model, cached_words
        self._processor: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.dtype: np.dtype[Any] = np.dtype(np.uint16 if len(self) <= 1 << 16 else np.uint32)
        self._words = _Words(self._processor, self.dtype)
        self.sha256 = hashlib.sha256(model).hexdigest()
        pieces = (piece.removeprefix(_SPACE) for piece in self._pieces())
        self.characters = frozenset(piece for piece in pieces if len(piece) == 1) | {" "}
        """Those with a piece of their own; all others are spelt in bytes."""
        has_symbols = len(self) > BOD_ID + 1 and self._processor.IdToPiece(BOD_ID + 1) == _SYMBOLS[0]
        self.placeholders: dict[Placeholder, int] = (
            {placeholder: BOD_ID + 1 + number for number, placeholder in enumerate(_PLACEHOLDERS)}
            if has_symbols
            else {}
        )
        """Ids of the placeholders; none if the tokenizer has no symbols for them."""
        first = BOD_ID + 1 + len(_PLACEHOLDERS)
        self.registers: dict[Register, int] = (
            {register: first + number for number, register in enumerate(REGISTERS)} if has_symbols else {}
        )
        self.n_symbols = BOD_ID + 1 + (len(_SYMBOLS) if has_symbols else 0)
        """Control symbols: the ids below this."""
        self._space: list[int] = [self._processor.PieceToId(_SPACE)] if has_symbols else []
        self._guard: list[int] = self._processor.Encode(_ESCAPE) if len(self) else []
        self._by_id = {id: placeholder for placeholder, id in self.placeholders.items()}

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        try:
            tokenizer = cls(path.read_bytes())
        except FileNotFoundError:
            raise InputError("no such tokenizer", path=path) from None
        except (RuntimeError, OSError) as error:
            raise InputError(f"cannot be loaded ({error})", path=path, expected="a sentencepiece model") from None
        tokenizer._check(path)
        return tokenizer

    def save(self, path: Path) -> None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(self.model)

    def _check(self, path: Path) -> None:
        if len(self) <= BOD_ID:
            raise InputError(
                "its vocabulary is empty", path=path, expected="a tokenizer that `fenster prepare` learned"
            )
        for id, symbol in enumerate((PAD, UNK, BOS, EOS, SEP, BOD)):
            if self._processor.IdToPiece(id) != symbol:
                raise InputError(
                    f"id {id} is {self._processor.IdToPiece(id)!r}",
                    path=path,
                    expected=f"{symbol}: a tokenizer that `fenster prepare` learned",
                )
        for piece in self._pieces():
            if _SPACE in piece[1:]:
                raise InputError(
                    f"piece {piece!r} crosses a space",
                    path=path,
                    expected="a tokenizer that `fenster prepare` learned",
                )

    def _pieces(self) -> Iterator[str]:
        """All pieces by id, some at a time: as a list they would take more memory than the model."""
        for first in range(0, len(self), _PIECES):
            yield from self._processor.IdToPiece(list(range(first, min(first + _PIECES, len(self)))))

    def __len__(self) -> int:
        return int(self._processor.GetPieceSize())

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Longs]:
        """(ids of all texts one after the other, number of ids of each); no control symbols."""
        if len(self._words) > self._cached_words:
            self._words.clear()
        ids_of = self._words.__getitem__
        encoded = [b"".join(map(ids_of, text.split(" "))) for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)) // self.dtype.itemsize
        return np.frombuffer(b"".join(encoded), dtype=self.dtype), lengths

    def encode_each(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text."""
        ids, lengths = self.encode(texts)
        return np.split(ids, np.cumsum(lengths)[:-1]) if len(texts) else []

    def encode_marked(self, parts: Marked) -> Ids:
        """The ids of one text in which placeholders stand for protected spans."""
        ids: list[int] = []
        after_space = True
        for part in parts:
            if isinstance(part, Placeholder):
                ids += self._space if after_space else []
                ids.append(self.placeholders[part])
                after_space = False
                continue
            first, *words = part.split(" ")
            if first:
                word = np.frombuffer(self._words[first], self.dtype).tolist() if after_space else self._tail(first)
                ids += word
            for word in words:
                ids += np.frombuffer(self._words[word], self.dtype).tolist()
            after_space = not words[-1] if words else False
        return np.array(ids, dtype=self.dtype)

    def _tail(self, text: str) -> list[int]:
        """The ids of text that follows a placeholder without a space: behind a character that no piece joins."""
        ids: list[int] = self._processor.Encode(_ESCAPE + _escaped(text))
        return ids[len(self._guard) :]

    def decode_marked(self, ids: Iterable[int]) -> list[str | Placeholder]:
        """Text and placeholders of some ids; other control symbols leave no trace."""
        parts: list[str | Placeholder] = []
        text: list[int] = []

        def finish() -> None:
            if text:
                decoded: str = self._processor.Decode([*self._guard, *text] if parts else text)
                if visible := decoded[1:] if parts else decoded:
                    parts.append(_unescaped(visible))
                text.clear()

        for id in ids:
            placeholder = self._by_id.get(int(id))
            if placeholder is None:
                text.append(int(id))
            else:
                finish()
                parts.append(placeholder)
        finish()
        return parts

    def decode(self, ids: Iterable[int]) -> str:
        """Text of some ids; control symbols leave no trace."""
        text: str = self._processor.Decode([int(id) for id in ids])
        return _unescaped(text)

    @cached_property
    def joins_word(self) -> npt.NDArray[np.bool_]:
        """[V] True for pieces that continue the word before them: those that begin with a letter, a digit or a
        byte."""
        pieces = self.pieces(range(len(self)))
        return np.array([piece[:1].isalnum() or self._processor.IsByte(id) for id, piece in enumerate(pieces)])

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces themselves, for people to look at."""
        pieces: list[str] = self._processor.IdToPiece([int(id) for id in ids])
        return pieces


def learn(sentences: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn BPE from sentences; the same sentences and settings give the same model."""
    model = _Bytes()
    try:
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type="bpe",
            vocab_size=config.vocab_size,
            character_coverage=config.character_coverage,
            normalization_rule_name="identity",
            byte_fallback=True,
            hard_vocab_limit=True,
            max_sentence_length=1 << 16,
            num_threads=_LEARNING_THREADS,
            train_extremely_large_corpus=False,
            pad_id=PAD_ID, pad_piece=PAD,
            unk_id=UNK_ID, unk_piece=UNK,
            bos_id=BOS_ID, bos_piece=BOS,
            eos_id=EOS_ID, eos_piece=EOS,
            control_symbols=[SEP, BOD, *(_SYMBOLS if config.symbols else [])],
            minloglevel=2,
        )  # fmt: skip
    except RuntimeError as error:
        raise FensterError(
            f"sentencepiece could not learn {config.vocab_size} pieces: {error}",
            expected="a vocabulary that holds every character and is not larger than the text allows",
            fix="change tokenizer.vocab_size as sentencepiece says above, or give more training text",
        ) from None
    tokenizer = Tokenizer(bytes(model.data))
    tokenizer._check(Path("<learned>"))
    return tokenizer


class _Bytes:
    """A file-like object that sentencepiece writes a model to."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: bytes) -> None:
        self.data.extend(data)
