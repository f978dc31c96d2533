"""What benchmarks make of their measurements."""

from pathlib import Path

import pytest

from fenster.bench.attention import WAYS, Setting, measure
from fenster.bench.decode import SentenceTime, whole_document
from fenster.cli import main


def test_a_whole_document_is_summed_between_places() -> None:
    places = [SentenceTime(1, 1.0, 1.0, 0), SentenceTime(3, 1.0, 3.0, 0), SentenceTime(5, 2.0, 9.0, 0)]
    near, whole = whole_document(places) or (0, 0)
    assert near == pytest.approx(1 + 1 + 1 + 1.5 + 2)
    assert whole == pytest.approx(1 + 2 + 3 + 6 + 9)
    assert whole_document(places[:1]) is None
    assert whole_document([*places, SentenceTime(7, 1.0, None, 0)]) is None


@pytest.mark.parametrize("way", [*WAYS["cpu"], "explicit", "floor"])
def test_every_way_of_attention_can_be_measured(way: str) -> None:
    cell = measure(Setting(way, 30, window=4, heads=2, size=16, seconds=0))
    assert cell.seconds > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["attention", "--lengths", "0"], "Must be >= 1"),
        (["attention", "--window", "-1"], "Must be >= 0"),
        (["attention", "--heads", "0"], "Must be >= 1"),
        (["attention", "--plot", "picture.xyz"], "unsupported image format"),
        (["memory", "--lengths", "-5"], "Must be >= 1"),
        (["train", "--lengths", "0"], "Must be >= 1"),
        (["train", "--tokens", "0"], "Must be >= 1"),
        (["decode", "--batch", "0"], "Must be >= 1"),
        (["decode", "--count", "0"], "Must be >= 1"),
        (["decode", "--sentences", "0"], "Must be >= 1"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_measured(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["bench", *arguments])
    assert ended.value.code == 2 and told in " ".join(capsys.readouterr().err.split())
