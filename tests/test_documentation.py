"""What the documents show works: Python code is run, commands are parsed, links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from fenster.cli import app
from fenster.data.dataset import PreparedData

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(path: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(path.read_text(encoding="utf-8")) if kind == language]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/python.md"])
def test_python_runs(name: str, toy: PreparedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a document one after the other, as a reader would type them."""
    (tmp_path / "examples" / "out").mkdir(parents=True)
    (tmp_path / "examples" / "out" / "prepared").symlink_to(toy.folder)
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks(ROOT / name, "python"))
    assert code
    exec(compile(code, name, "exec"), {})


def commands() -> list[tuple[str, str]]:
    """(document, command) of every `fenster …` in a shell block."""
    found = []
    for path in DOCUMENTS:
        for code in blocks(path, "sh"):
            for line in code.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\||;", line.partition(" #")[0]):
                    part = re.sub(r"^.*-m fenster ", "fenster ", part.strip())
                    if part.startswith("fenster "):
                        found.append((path.name, re.sub(r"\s[<>].*", "", part)))
    return found


@pytest.mark.parametrize(("document", "command"), commands())
def test_commands_are_accepted(document: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("names.txt", "terms.csv"):  # files that must exist for options to be sound
        (tmp_path / name).touch()
    tokens = [token.replace("…", "x") for token in shlex.split(command)[1:]]
    if tokens == ["--help"]:
        return
    parsed: Any = app.parse_args(tokens, exit_on_error=False, print_error=False)
    assert parsed is not None


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_targets_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)\)", text):
        assert "://" in link or (path.parent / link).exists(), link
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for target in re.findall(r"^make (\w+)", "\n".join(blocks(path, "sh")), re.MULTILINE):
        assert target in targets, f"make {target}"


def test_the_command_reference_is_up_to_date() -> None:
    from tools.command_reference import DOCUMENT, reference

    written = DOCUMENT.read_text(encoding="utf-8")
    for line in reference().splitlines():
        if line.startswith(("## ", "* `--")):
            assert line in written, "run: make docs"


def test_the_readme_is_short() -> None:
    shown = re.sub(r"<!--.*?-->\n", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(shown.splitlines()) <= 150


def test_every_registered_part_is_documented() -> None:
    from fenster.data.corpora import FORMATS
    from fenster.decode.files import DOCUMENT_FORMATS

    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in (*FORMATS, *DOCUMENT_FORMATS))
