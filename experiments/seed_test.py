"""How often the test over seeds and documents finds a difference where there is none (docs/evaluation.md).

    python experiments/seed_test.py -o results/seed-test.json

Made-up systems: documents of different difficulty with 50 cases each, and seeds that differ by chance or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from script import parser, write

from fenster.evaluate.metrics.base import Measurement
from fenster.evaluate.metrics.sacrebleu_adapter import Statistics
from fenster.evaluate.significance import compare_seeds

_SHARE = Measurement("share", "share", np.ones((1, 2)), np.zeros(1, int))
_TRIALS = 500


def measure(seeds: int, deviation: float, documents: int) -> dict[str, Any]:
    """The share of p-values below .05 and .01 of two systems that do not differ."""
    draw = np.random.default_rng(7)
    values = []
    for _ in range(_TRIALS):
        easy = np.clip(0.5 + 0.1 * draw.standard_normal(documents), 0.1, 0.9)  # [documents]

        def system(easy: Any = easy) -> list[Statistics]:
            shares = [np.clip(easy + deviation * draw.standard_normal(), 0.02, 0.98) for _ in range(seeds)]
            return [np.stack([draw.binomial(50, share), np.full(documents, 50)], 1).astype(float) for share in shares]

        values.append(compare_seeds(_SHARE, system(), system(), samples=200).p)
    below = {f"below_{limit}": float(np.mean(np.array(values) < limit)) for limit in (0.05, 0.01)}
    return {"seeds": seeds, "deviation": deviation, "documents": documents, **below}


def main() -> None:
    given = parser(__doc__).parse_args()
    cases = ((1, 0.0, 60), (2, 0.03, 30), (3, 0.0, 60), (3, 0.01, 60), (3, 0.03, 30), (5, 0.03, 30))
    made = [measure(*case) for case in cases]
    for row in made:
        print(row)
    write(made, given.output)


if __name__ == "__main__":
    main()
