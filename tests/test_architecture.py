"""Imports point down, never in a circle, and torch is loaded only when it is needed."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from tools.code_metrics import names
from tools.import_graph import BEGIN, DOCUMENT, END, imports, mermaid, modules, room

# From the bottom to the top. A room imports only rooms of lower lines, so siblings do not know each other.
LAYERS: list[set[str]] = [
    {"errors", "document"},
    {"registry", "config"},
    {"io", "configs", "language"},
    {"data"},
    {"model"},
    {"train", "decode"},
    {"evaluate"},
    {"adapt", "serve", "bulk", "reproduce"},
    {"fenster"},  # the public face: load, sentences, Document
    {"cli"},
    {"bench", "__main__"},
]
LEVEL = {name: number for number, layer in enumerate(LAYERS) for name in layer}
KNOWN = modules()
# The version of the package may be read everywhere, and `fenster.load` imports what it loads when it is called.
VERSION = "fenster"


@pytest.mark.parametrize("module", KNOWN)
def test_imports_point_down(module: str) -> None:
    for other in imports(KNOWN[module], KNOWN):
        if other == VERSION or room(other) == room(module):
            continue
        assert LEVEL[room(other)] < LEVEL[room(module)], f"{module} imports {other}"


def test_every_room_has_its_layer() -> None:
    assert {room(module) for module in KNOWN} == LEVEL.keys()


def test_no_module_imports_itself_through_others() -> None:
    edges = {name: imports(path, KNOWN) - {VERSION} for name, path in KNOWN.items()}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_nothing_imports_the_benchmarks() -> None:
    assert not [
        name
        for name, path in KNOWN.items()
        if room(name) != "bench" and any("bench" in i for i in imports(path, KNOWN))
    ]


@pytest.mark.parametrize(
    "code",
    [
        "import fenster",
        "import fenster.cli",
        "import fenster.evaluate.report, fenster.evaluate.translations, fenster.evaluate.metrics.expected_form",
        "import fenster.train.run_folder",
    ],
)
def test_torch_is_not_loaded_before_it_is_needed(code: str) -> None:
    check = f"{code}\nimport sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], timeout=300).returncode == 0


def test_importing_the_package_is_quick() -> None:
    """`fenster --version` and `--help` wait for it."""
    check = "import fenster, sys; sys.exit('pydantic' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], timeout=300).returncode == 0


def test_modules_stay_small() -> None:
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in KNOWN.items()}
    assert {name: size for name, size in sizes.items() if size > 330} == {}


def test_vague_names_stay_rare() -> None:
    """One meaning per word: these say nothing, and crept in before."""
    used = sum((names(path) for path in KNOWN.values()), Counter[str]())
    assert used["found"] <= 3 and used["each"] <= 6 and used["place"] <= 4, used


def test_no_private_api_outside_its_adapter() -> None:
    """What torch and sacrebleu may change without notice is used in two modules only."""
    adapters = {"fenster.model.ops.torch_private", "fenster.evaluate.metrics.sacrebleu_adapter"}
    private = (
        "torch._dynamo",
        "torch._foreach",
        "torch._C",
        "torch.ops.quantized",
        "quantize_per_channel",
        "._compute_score",
        "._extract_",
        "grad_scale",
    )
    users = {
        name
        for name, path in KNOWN.items()
        for line in path.read_text(encoding="utf-8").splitlines()
        if any(part in line.partition("#")[0] for part in private) and '"""' not in line and "`" not in line
    }
    assert users <= adapters


def test_the_drawn_graph_is_up_to_date() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    drawn = text.split(BEGIN)[1].split(END)[0].strip()
    assert drawn == mermaid(), "run: python tools/import_graph.py --write"


def test_nothing_reads_the_developers_folders() -> None:
    """What ships must not depend on folders beside the repository."""
    for name, path in KNOWN.items():
        assert "../shared" not in path.read_text(encoding="utf-8"), name
    for path in (Path(__file__).parents[1] / "src" / "fenster" / "configs").rglob("*.yaml"):
        assert "../" not in path.read_text(encoding="utf-8"), path.name
