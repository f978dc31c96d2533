"""What products with int8 matrices cost with AVX-512 and VNNI, with AVX-VNNI and with AVX2, one thread, seconds.

python experiments/int8_products.py -o results/bench/int8-products.json
"""

from __future__ import annotations

import time

import numpy as np
from script import parser, write

from fenster.io.native_library import required_library
from fenster.model.compiled.matrix import multiply, pack_int8
from fenster.model.int8_storage import quantize_rows

SHAPES = ((512, 512, False), (2048, 512, False), (512, 2048, True), (24_000, 512, False))
"""Out, in, and whether inputs are what a ReLU leaves: those of the bundled model's layers."""
KINDS = {"avx512": 4, "avx_vnni": 3, "avx2": 2}
PRODUCTS = 10**8  # of a measurement
ROUNDS = 5


def main() -> None:
    given = parser(__doc__).parse_args()
    rng, library, made = np.random.default_rng(0), required_library(), []
    for out, depth, nonnegative in SHAPES:
        packed = pack_int8(*quantize_rows(rng.standard_normal((out, depth), dtype=np.float32)))
        for rows in (4, 64, 400):
            x, count = rng.standard_normal((rows, depth), dtype=np.float32), max(2, PRODUCTS // (out * depth * rows))
            x[:, [70, 300, 450]] *= 10  # a few inputs are larger than others, as in networks
            best = dict.fromkeys(KINDS, float("inf"))
            for _ in range(ROUNDS):
                for name, kind in KINDS.items():
                    if not library.fenster_use_instructions(kind):
                        raise SystemExit(f"this processor does not have {name}")
                    began = time.perf_counter()
                    for _ in range(count):
                        multiply(x, packed, None, nonnegative)
                    best[name] = min(best[name], (time.perf_counter() - began) / count)
            made.append({"out": out, "in": depth, "rows": rows, **best})
            print(made[-1], flush=True)
    write(made, given.output)


if __name__ == "__main__":
    main()
