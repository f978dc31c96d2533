from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from fenster.data.corpora.synthetic import generate
from fenster.data.text import RESERVED, normalise
from fenster.data.tokenizer import BOD_ID, EOS_ID, SEP_ID, Tokenizer, TokenizerConfig, learn
from fenster.errors import FensterError, InputError

SENTENCES = [text for d in generate(60, seed=1) for side in (d.pair.source, d.pair.target) for text in side.texts]
TOKENIZER = learn(SENTENCES, TokenizerConfig(vocab_size=450))
PROCESSOR = sentencepiece.SentencePieceProcessor(model_proto=TOKENIZER.model)


def test_learning_is_repeatable() -> None:
    assert learn(SENTENCES, TokenizerConfig(vocab_size=450)).sha256 == TOKENIZER.sha256


@given(st.text())
def test_nothing_is_lost(text: str) -> None:
    """Any text comes back as it was, whatever script, sentencepiece's own space sign included."""
    clean = normalise(text.replace("\x00", ""))
    assert TOKENIZER.decode(TOKENIZER.encode([clean])[0]) == clean


@pytest.mark.parametrize(
    "text", ["a\u2581b x", "\u2581\u2581\u2581", "\ue2b1 \ue2b1s \u2581e", "Sign here \u2581\u2581."]
)
def test_the_space_sign_survives(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode([text])[0]) == text


@given(st.lists(st.text(alphabet="abcdeSie duIhnen.?,😀é<>sep ", max_size=40), max_size=5))
def test_word_by_word_equals_whole_sentences(texts: list[str]) -> None:
    texts = [normalise(text) for text in texts]
    assert [ids.tolist() for ids in TOKENIZER.encode_each(texts)] == PROCESSOR.Encode(texts)


def test_word_by_word_equals_whole_sentences_on_real_text(shared_data: Path) -> None:
    from fenster.data.corpora import read_corpus

    documents = list(read_corpus([shared_data / "europarl" / "en-de.dev.tsv.xz"]))
    texts = [text for d in documents for side in (d.source, d.target) for text in side.texts]
    tokenizer = learn(texts, TokenizerConfig(vocab_size=4000))
    whole = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model).Encode(texts)
    ids, lengths = tokenizer.encode(texts)
    assert lengths.tolist() == [len(each) for each in whole]
    assert ids.tolist() == [id for each in whole for id in each]


@given(st.text(alphabet="<>sepbodeos /", max_size=30))
def test_text_never_makes_a_control_symbol(text: str) -> None:
    ids = TOKENIZER.encode([normalise(text), *RESERVED])[0]
    assert not np.isin(ids, [SEP_ID, BOD_ID, EOS_ID, 0, 1, 2]).any()


def test_control_symbols_leave_no_trace_in_text() -> None:
    ids = TOKENIZER.encode(["Guten Tag"])[0].tolist()
    assert TOKENIZER.decode([BOD_ID, SEP_ID, *ids, EOS_ID]) == "Guten Tag"


def test_the_cache_may_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    before = TOKENIZER.encode(SENTENCES)[0].tolist()
    monkeypatch.setattr("fenster.data.tokenizer._CACHED_WORDS", 3)
    assert TOKENIZER.encode(SENTENCES)[0].tolist() == before
    assert TOKENIZER.encode(SENTENCES[::-1])[1].tolist() == TOKENIZER.encode(SENTENCES)[1].tolist()[::-1]


def test_save_and_load(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "t.model")
    assert Tokenizer.load(tmp_path / "t.model").sha256 == TOKENIZER.sha256


def test_other_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.model").write_bytes(b"not a model")
    with pytest.raises(InputError, match=r"broken\.model"):
        Tokenizer.load(tmp_path / "broken.model")
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(SENTENCES), model_prefix=str(tmp_path / "other"), vocab_size=300, minloglevel=2
    )
    with pytest.raises(InputError, match="expected: <pad>"):
        Tokenizer.load(tmp_path / "other.model")


def test_too_large_a_vocabulary_is_explained() -> None:
    with pytest.raises(FensterError, match=r"too high \(5000\)"):
        learn(["tiny text"], TokenizerConfig(vocab_size=5000))


def test_no_text_no_ids() -> None:
    ids, lengths = TOKENIZER.encode(["", "Hallo", ""])
    assert lengths.tolist()[::2] == [0, 0]
    assert len(ids) == lengths[1]
    assert TOKENIZER.encode_each([]) == []
