"""Several seeds of one system: the test over seeds and documents, and its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fenster.errors import ConfigError
from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.report.collect import collect
from fenster.evaluate.report.table import Table
from fenster.evaluate.report.tables import tables
from fenster.evaluate.significance import compare, compare_seeds
from tests.evaluate.test_report import SENTENCE, WINDOW, result, share

SHARE = Measurement("share", "share", np.ones((1, 2)), np.zeros(1, int))


def rows(draw: np.random.Generator, share: float, documents: int = 60) -> np.ndarray:
    """Statistics of documents with 50 cases each."""
    return np.stack([draw.binomial(50, share, documents), np.full(documents, 50)], 1).astype(float)


def test_one_seed_each_is_the_paired_test() -> None:
    draw = np.random.default_rng(1)
    ours, theirs = rows(draw, 0.52), rows(draw, 0.5)
    assert compare_seeds(SHARE, [ours], [theirs]) == compare(SHARE, ours, theirs)


def test_seeds_that_differ_make_a_difference_less_sure() -> None:
    draw = np.random.default_rng(2)
    same = [rows(draw, 0.56) for _ in range(3)]
    apart = [rows(draw, share) for share in (0.46, 0.56, 0.66)]
    base = [rows(draw, 0.5) for _ in range(3)]
    steady, unsteady = compare_seeds(SHARE, same, base), compare_seeds(SHARE, apart, base)
    assert abs(steady.difference - unsteady.difference) < 2
    assert steady.p < 0.01 and unsteady.p > 0.1


@pytest.mark.parametrize("deviation", [0.0, 0.03])
def test_chance_differences_are_found_significant_about_as_often_as_they_should(deviation: float) -> None:
    """No true difference, but documents (and seeds, or not) that vary: about 5 % of p-values are below .05. Counting
    seeds' noise twice gives none, counting three seeds as if they were all that there are a tenth."""
    draw = np.random.default_rng(3)
    below = 0
    for _ in range(300):
        ours, theirs = (
            [rows(draw, 0.5 + deviation * draw.standard_normal(), 30) for _ in range(3)] for _ in range(2)
        )
        below += compare_seeds(SHARE, ours, theirs, samples=100).p < 0.05
    assert 0.01 <= below / 300 <= 0.09


def test_different_units_cannot_be_paired() -> None:
    draw = np.random.default_rng(4)
    with pytest.raises(ValueError, match="cannot be paired"):
        compare_seeds(SHARE, [rows(draw, 0.5, 10)], [rows(draw, 0.5, 11)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, (ours, theirs) in enumerate((([9, 8, 9, 8], [4, 3, 4, 3]), ([8, 8, 9, 7], [3, 3, 4, 2])), 1):
        result(WINDOW | {"strategy": "sequential", "seed": seed}, ours).write(tmp_path / f"window-{seed}.json")
        result(SENTENCE | {"strategy": "sentence", "seed": seed}, theirs).write(tmp_path / f"sentence-{seed}.json")
    single = WINDOW | {"name": "window w10", "window": 10, "strategy": "sequential", "seed": 1}
    result(single, [5, 5, 5, 5]).write(tmp_path / "w10.json")
    accuracy = (share("contrastive accuracy", [5, 6, 7]),)
    result(WINDOW | {"seed": 1}, [0, 0, 0], kind="contrastive", test="contrapro", scores=accuracy).write(
        tmp_path / "contrapro.json"
    )
    return tmp_path


def by_title(folder: Path, against: str | None = None) -> dict[str, Table]:
    return {table.title: table for table in tables(collect([folder]), against)}


def test_means_and_differences_over_seeds(folder: Path) -> None:
    made = by_title(folder)
    means = {row[:3]: row[3] for row in made["Several seeds, ep"].rows}
    assert means == {
        ("sentence", "sentence", "2"): "32.5 ± 3.5",
        ("window", "sequential", "2"): "82.5 ± 3.5",
        ("window w10", "sequential", "1"): "50.0",
    }
    differences = made["Several seeds: difference to sentence (sentence), ep"]
    assert [row[0] for row in differences.rows] == ["window", "window w10"]
    assert differences.rows[0][2].startswith("+50.0 (p = ")
    assert not any("contrapro" in title for title in made if "seeds" in title), "one seed needs no table of seeds"
    assert {row[0] for row in made["All metrics, ep"].rows} >= {"window (seed 1)", "window (seed 2)", "window w10"}


def test_a_family_can_be_what_others_are_compared_with(folder: Path) -> None:
    made = by_title(folder, "window")
    assert "Several seeds: difference to window (sequential), ep" in made
    assert "Difference to window (seed 1), ep" in made
    with pytest.raises(ConfigError, match="no system is called"):
        by_title(folder, "windows")


def test_what_only_shares_a_name_is_no_seed(tmp_path: Path) -> None:
    """Results without seeds, one training in two precisions, and other training data."""
    pairs = {"training": {"pairs": 10}}
    several: dict[str, list[dict[str, Any]]] = {
        "no seeds": [{}, {"beam": 4}],
        "two precisions": [{"seed": 1, "int8": True}, {"seed": 1, "int8": False}],
        "other data": [{"seed": 1, **pairs}, {"seed": 2, "training": {"pairs": 20}}],
    }
    for name, systems in several.items():
        for number, system in enumerate(systems):
            made = result(WINDOW | {"strategy": "sequential"} | system, [9, 8, 9, 8])
            made.write(tmp_path / name / f"{number}.json")
        assert not [title for title in by_title(tmp_path / name) if "seeds" in title], name


def test_a_system_is_one_row_whatever_its_seeds_were_computed_with(folder: Path) -> None:
    """Here one seed was translated in 8 bits, on one of two test sets."""
    for seed, int8 in ((1, False), (2, True)):
        system = WINDOW | {"strategy": "sequential", "seed": seed, "int8": int8}
        result(system, [9, 8, 9, 8], test="ted").write(folder / f"ted-{seed}.json")
    made = by_title(folder)
    rows = [row for row in made["Table 5: BLEU / TER"].rows if row[0].startswith("window (")]
    assert [row[0] for row in rows] == ["window (seed 1)", "window (seed 2)"] and all(
        "–" not in row[3:5] for row in rows
    )
    assert {row[:3] for row in made["Several seeds, ted"].rows} == {("window", "sequential", "2")}
