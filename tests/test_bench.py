"""What benchmarks make of their measurements."""

import pytest

from fenster.bench.attention import WAYS, Setting, measure
from fenster.bench.decode import Place, whole_document


def test_a_whole_document_is_summed_between_places() -> None:
    places = [Place(1, 1.0, 1.0, 0), Place(3, 1.0, 3.0, 0), Place(5, 2.0, 9.0, 0)]
    near, whole = whole_document(places) or (0, 0)
    assert near == pytest.approx(1 + 1 + 1 + 1.5 + 2)
    assert whole == pytest.approx(1 + 2 + 3 + 6 + 9)
    assert whole_document(places[:1]) is None
    assert whole_document([*places, Place(7, 1.0, None, 0)]) is None


@pytest.mark.parametrize("way", [*WAYS["cpu"], "explicit", "floor"])
def test_every_way_of_attention_can_be_measured(way: str) -> None:
    cell = measure(Setting(way, 30, window=4, heads=2, size=16, seconds=0))
    assert cell.seconds > 0
