"""A wheel of the package works by itself, from any folder: the model, the rules and the configurations are inside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_an_installed_wheel_translates_from_another_folder(tmp_path: Path) -> None:
    source, site, elsewhere = tmp_path / "source", tmp_path / "site", tmp_path / "elsewhere"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    parts = ["src", "pyproject.toml", "README.md", "LICENSE"]
    files = subprocess.run([*listing, *parts], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if files.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, files.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    built = subprocess.run(
        [*pip, "wheel", str(source), "--no-deps", "-w", str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    if built.returncode and "No matching distribution found for setuptools" in built.stderr:
        pytest.skip("the build backend cannot be installed here: no package index")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True, timeout=300)
    compiled = list((site / "fenster").glob("_native*"))
    assert compiled or shutil.which("c++") is None, "the C++ library is built where there is a compiler"
    elsewhere.mkdir()
    (elsewhere / "text.txt").write_text("Thank you very much, Mr President.\n\nThat is a good idea.\n")
    (elsewhere / "price.txt").write_text("€1,240.50\n")

    def run(*arguments: str) -> str:
        environment = os.environ | {"PYTHONPATH": str(site)}
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=elsewhere, env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        return done.stdout

    assert run("-c", "import fenster; print(fenster.__file__)").startswith(str(site))
    lines = run("-m", "fenster", "translate", "text.txt", "--beam", "2").splitlines()
    assert len(lines) == 3 and "Präsident" in lines[0] and not lines[1]
    assert run("-m", "fenster", "translate", "price.txt") == "1.240,50 €\n", "the languages' conventions are inside"
    assert "europarl/window" in run("-m", "fenster", "configs")
    assert "kind: window" in run("-m", "fenster", "configs", "train/europarl/window")
    lines = ["Vielen Dank, Herr Präsident.", "", "Das ist eine gute Idee."]
    (elsewhere / "ref.txt").write_text("\n".join(lines) + "\n")
    shown = run("-m", "fenster", "evaluate", "ref.txt", "--ref", "ref.txt", "--src", "text.txt", "--samples", "10")
    assert "formality F1" in shown, "the rules are inside"
    assert run("-c", "import fenster.evaluate.report.page as p; p._TEMPLATES.get_template('page.html.j2')") == ""
