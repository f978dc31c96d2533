"""Count what docs/architecture.md says of the code's size: python tools/code_metrics.py [FOLDER WITH fenster]

Works on any version of the package, so that two can be compared. Translates two sentences with the bundled model.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

VAGUE = ("found", "each", "place")


def functions(path: Path) -> list[tuple[int, str]]:
    """(lines without the docstring, name) of every function of a module."""
    sizes = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            documented = node.body[0] if ast.get_docstring(node) is not None else None
            text = 0 if documented is None else (documented.end_lineno or 0) - documented.lineno + 1
            sizes.append(((node.end_lineno or 0) - node.lineno + 1 - text, f"{path.stem}.{node.name}"))
    return sizes


def names(path: Path) -> Counter[str]:
    """How often vague names are used as identifiers."""
    used: Counter[str] = Counter()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
        if name in VAGUE:
            used[name] += 1
    return used


def hops(root: Path) -> tuple[int, int, int]:
    """(modules of a translation, of these in decode, calls from one module of decode into another)."""
    sys.path.insert(0, str(root))
    import fenster

    assert str(root) in str(fenster.__file__), fenster.__file__
    translator = fenster.load(beam=2)
    translator.translate(["Hello there."])
    modules: set[str] = set()
    decode: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("fenster."):
            modules.add(name)
            if name.startswith("fenster.decode") and decode[-1:] != [name]:
                decode.append(name)

    sys.setprofile(profile)
    translator.translate(["Here is the lamp.", "It is very old."])
    sys.setprofile(None)
    return len(modules), len(set(decode)), len(decode) - 1


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src").resolve()
    paths = sorted((root / "fenster").rglob("*.py"))
    sizes = sorted(
        size for path in paths if "triton" not in path.stem and "kernels" not in str(path) for size in functions(path)
    )
    used = sum((names(path) for path in paths), Counter[str]())
    print(
        f"modules {len(paths)}, lines {sum(len(path.read_text(encoding='utf-8').splitlines()) for path in paths):,}"
    )
    print(f"longest functions {sizes[-3:][::-1]}, over 60 lines: {sum(size > 60 for size, _ in sizes)}")
    print("names", dict(used))
    print("modules of a translation {}, in decode {}, hops {}".format(*hops(root)))


if __name__ == "__main__":
    main()
