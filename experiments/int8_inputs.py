"""What rounding inputs of linear layers to 8 bits does to the log-probabilities of tokens: root mean square of the
error against float32, for all layers and for each kind of layer. References of development sets are scored.

python experiments/int8_inputs.py -o results/int8/inputs.json
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice

import torch
import torch.nn.functional as F
from script import DATA, parser, write
from torch import Tensor, nn

from fenster.data.corpora import read_corpus
from fenster.decode.scoring import score
from fenster.io.model_json import DEFAULT_MODEL
from fenster.model.model_folder import load_model

SETS = ("chat/en-de.dev.tsv.xz", "suttas/en-de.dev.tsv.xz")
DOCUMENTS, SEGMENTS = 8, 20  # of each set, and of each document
Rounding = Callable[[Tensor], Tensor]


def rounded(x: Tensor, group: int) -> Tensor:
    """127 steps on either side of zero, by the largest number of each group of a row; 0 for whole rows."""
    groups = x.view(len(x), -1, group or x.shape[1])
    largest = groups.abs().amax(-1, keepdim=True).clamp(min=1e-30)
    return ((groups * (127 / largest)).round() * (largest / 127)).view(x.shape)


def large_apart(x: Tensor) -> Tensor:
    """As the kernel does it: up to four numbers of a row, over twice the largest of any 64, stay as they are."""
    usual = x.view(len(x), -1, 64).abs().amax(-1).amin(-1, keepdim=True)
    sizes, places = x.abs().topk(4, -1)
    large = torch.zeros_like(x).scatter(1, places, x.gather(1, places) * (sizes > 2 * usual))
    return rounded(x - large, 0) + large


ROUNDINGS: dict[str, Rounding] = {
    "rows": partial(rounded, group=0),
    "groups of 128": partial(rounded, group=128),
    "large inputs apart": large_apart,
}


def main() -> None:
    given = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    loaded = load_model(DEFAULT_MODEL)
    chosen: dict[str, Rounding] = {}  # by kind of layer

    def forward(layer: nn.Linear, kind: str, x: Tensor) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        if kind in chosen:
            is_after_relu = kind.endswith("down")
            flat = rounded(flat, 0) if is_after_relu and chosen[kind] is large_apart else chosen[kind](flat)
        return F.linear(flat, layer.weight, layer.bias).view(*x.shape[:-1], -1)

    kinds = set()
    for name, layer in loaded.model.named_modules():
        if isinstance(layer, nn.Linear):
            side, _, *rest = name.split(".")
            kinds.add(kind := ".".join([side, *rest]))
            layer.forward = partial(forward, layer, kind)  # type: ignore[method-assign]
    documents = []
    for path in SETS:
        for document in islice(read_corpus([DATA / path]), DOCUMENTS):
            documents.append((document.source.texts[:SEGMENTS], document.target.texts[:SEGMENTS]))

    def scores() -> Tensor:
        with torch.inference_mode():
            return torch.tensor([x for one in score(loaded, documents) for sentence in one.tokens for x in sentence])

    wanted = scores()
    made = []
    for which in (sorted(kinds), *([kind] for kind in sorted(kinds))):
        row: dict[str, object] = {"layers": which[0] if len(which) == 1 else "all", "tokens": len(wanted)}
        for name, rounding in ROUNDINGS.items():
            chosen.clear()
            chosen.update(dict.fromkeys(which, rounding))
            row[name] = float((scores() - wanted).pow(2).mean().sqrt())
        made.append(row)
        print(row, flush=True)
        write(made, given.output)


if __name__ == "__main__":
    main()
