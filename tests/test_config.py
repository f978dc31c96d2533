from pathlib import Path

import pytest
from pydantic import ValidationError

from fenster.config import check, load
from fenster.data.prepare.config import PrepareConfig
from fenster.decode.config import DecodeConfig
from fenster.errors import ConfigError

CONFIGS = Path(__file__).resolve().parents[1] / "src" / "fenster" / "configs"
GOOD = "output: out\nsplits:\n  train: a.tsv\n"


def write(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(body)
    return path


def test_short_forms(tmp_path: Path) -> None:
    config = load(
        write(
            tmp_path,
            "output: o\nsplits:\n  train: [a.tsv, {paths: [b.en, b.de], format: plain}]\n  valid: v.tsv\n",
        ),
        PrepareConfig,
    )
    assert [corpus.paths for corpus in config.splits["train"]] == [(Path("a.tsv"),), (Path("b.en"), Path("b.de"))]
    assert config.splits["valid"][0].paths == (Path("v.tsv"),)
    assert config.tokenizer.vocab_size == 15_000


def test_a_split_may_be_called_like_a_number(tmp_path: Path) -> None:
    config = load(write(tmp_path, "output: o\nsplits: {train: a, 2015: b}\n"), PrepareConfig)
    assert list(config.splits) == ["train", "2015"]


@pytest.mark.parametrize("override", ["a=[", "a=*x", "a", "output.x=1"])
def test_overrides_that_cannot_be_read(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        load(write(tmp_path, GOOD), PrepareConfig, [override])


def test_values_are_taken_as_they_are(tmp_path: Path) -> None:
    config = load(write(tmp_path, GOOD), PrepareConfig, (), {"output": Path("x #y")})
    assert config.output == Path("x #y")


def test_overrides(tmp_path: Path) -> None:
    config = load(write(tmp_path, GOOD), PrepareConfig, ["tokenizer.vocab_size=700", "filters.held_out=[x.json]"])
    assert config.tokenizer.vocab_size == 700
    assert config.filters.held_out[0].paths == (Path("x.json"),)


def test_a_value_of_several_kinds_has_one_error() -> None:
    with pytest.raises(ConfigError) as told:
        check({"context": "foo"}, DecodeConfig)
    wanted = "context: expected 'auto', 'part' or 'document' or a whole number (got 'foo')"
    assert str(told.value) == f"1 error in the configuration:\n  {wanted}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (GOOD + "tokeniser: {}\n", "tokeniser: unknown key; did you mean 'tokenizer'?"),
        (GOOD + "filters: {max_ratoi: 3}\n", "filters.max_ratoi: unknown key; did you mean 'max_ratio'?"),
        ("output: o\nsplits:\n  train: {path: a}\n", "splits.train.0.path: unknown key; did you mean 'paths'?"),
        ("splits: {train: a}\n", "output: is required"),
        ("output: o\nsplits: {valid: a}\n", "a split called 'train' is required"),
        ("output: o\nsplits: {train: {paths: a, format: tvs}}\n", "unknown corpus format 'tvs'"),
        (GOOD + "tokenizer: {vocab_size: many}\n", "tokenizer.vocab_size: expected a whole number (got 'many')"),
        ("output: [\n", "not YAML"),
        ("output: o\nsplits:\n  train: a\n  train: b\n", "c.yaml:4: not YAML: key 'train' occurs twice"),
        ("output: 2024-13-45\n", "not YAML"),
        ("output: o\nsplits: {train: ''}\n", "a path must not be empty"),
        ("output: o\nsplits: {train: a, valid: []}\n", "splits.valid: Value should have at least 1 item"),
        ("- a\n", "holds a list"),
        ("? [a, b]\n: 1\n", "c.yaml:1: not YAML: a key that is not a word"),
    ],
)
def test_faults_are_named_with_their_path(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(write(tmp_path, body), PrepareConfig)
    assert message in str(error.value)
    assert "c.yaml" in str(error.value)


def test_all_faults_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"2 errors"):
        load(write(tmp_path, GOOD + "workers: 0\nfoo: 1\n"), PrepareConfig)


def test_configs_are_frozen(tmp_path: Path) -> None:
    config = load(write(tmp_path, GOOD), PrepareConfig)
    with pytest.raises(ValidationError):
        config.output = Path("other")  # type: ignore[misc]


@pytest.mark.parametrize("path", sorted((CONFIGS / "prepare").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_configs_are_valid(path: Path) -> None:
    load(path, PrepareConfig)


def test_the_manual_mentions_every_key() -> None:
    """prepare/europarl.yaml serves as the manual: it lists every key of every part."""
    from fenster.data.prepare.config import AugmentConfig, CorpusConfig, FilterConfig
    from fenster.data.tokenizer import TokenizerConfig

    text = (CONFIGS / "prepare" / "europarl.yaml").read_text()
    for model in (PrepareConfig, CorpusConfig, TokenizerConfig, FilterConfig, AugmentConfig):
        for name in model.model_fields:
            assert f"{name}:" in text, f"{model.__name__}.{name} is not explained"
