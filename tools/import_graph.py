"""Draw the rooms of the package and which imports which, as a Mermaid graph: python tools/import_graph.py [--write]

`--write` puts it into docs/architecture.md; a test checks that it is up to date.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fenster"
DOCUMENT = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- import graph: tools/import_graph.py --write -->", "<!-- end of import graph -->"


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path], *, top_level_only: bool = False) -> set[str]:
    """Modules of the package that a file imports; imports for type checkers only do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    found = set()
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return found


def room(module: str) -> str:
    """The part of the package that a module belongs to: `fenster.model.attention.mask` is in `model`."""
    parts = module.split(".")[1:]
    return parts[0] if parts else "fenster"


def graph() -> dict[str, set[str]]:
    """Rooms that each room imports."""
    known = modules()
    edges: dict[str, set[str]] = defaultdict(set)
    for name, path in known.items():
        if room(name) != "fenster":  # the public face, and the version that all may read
            edges[room(name)] |= {room(other) for other in imports(path, known)} - {room(name), "fenster"}
    return dict(edges)


def mermaid() -> str:
    """Indirect edges are left out: an arrow is drawn only if no other path leads there."""
    edges = graph()

    def reachable(start: str, without: str) -> set[str]:
        seen, waiting = set(), [other for other in edges[start] if other != without]
        while waiting:
            here = waiting.pop()
            if here not in seen:
                seen.add(here)
                waiting += edges.get(here, set())
        return seen

    lines = ["```mermaid", "graph TD"]
    for start in sorted(edges):
        for end in sorted(edges[start]):
            if end not in reachable(start, end):
                lines.append(f"    {start.replace('.', '_')}[{start}] --> {end.replace('.', '_')}[{end}]")
    return "\n".join([*lines, "```"])


def main() -> None:
    drawn = mermaid()
    if "--write" not in sys.argv:
        print(drawn)
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{drawn}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
