"""What products with int8 matrices cost on AVX-512 with VNNI and on AVX2, one thread, seconds.

python experiments/int8_products.py -o results/bench/int8-products.json
"""

from __future__ import annotations

import time

import torch
from script import parser, write

from fenster.model.int8_storage import quantize_state
from fenster.model.ops.int8_kernel import int8_linear, int8_pack

SHAPES = ((512, 512, False), (2048, 512, False), (512, 2048, True), (24_000, 512, False))
"""Out, in, and whether inputs are what a ReLU leaves: those of the bundled model's layers."""
KINDS = {"vnni": 3, "avx2": 2}
PRODUCTS = 10**8  # of a measurement
ROUNDS = 5


def main() -> None:
    given = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    made = []
    for out, depth, nonnegative in SHAPES:
        stored = quantize_state({"w": torch.randn(out, depth)})
        packed = int8_pack(stored["w"], stored["w.scale"][:, 0])
        for rows in (4, 64, 400):
            x, count = torch.randn(rows, depth), max(2, PRODUCTS // (out * depth * rows))
            x[:, [70, 300, 450]] *= 10  # a few inputs are larger than others, as in networks
            best = dict.fromkeys(KINDS, float("inf"))
            for _ in range(ROUNDS):
                for name, kind in KINDS.items():
                    began = time.perf_counter()
                    for _ in range(count):
                        int8_linear(x, packed, None, nonnegative, kind)
                    best[name] = min(best[name], (time.perf_counter() - began) / count)
            made.append({"out": out, "in": depth, "rows": rows, **best, "ratio": best["avx2"] / best["vnni"]})
            print(made[-1], flush=True)
    write(made, given.output)


if __name__ == "__main__":
    main()
