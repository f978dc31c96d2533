"""Folders and several files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fenster.bulk.engines.here import Here
from fenster.bulk.files import FolderSummary, find_files, translate_files
from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.files.translate import FileTranslator
from fenster.errors import ConfigError, FensterError, InputError
from tests.helpers.models import make_loaded


def test_a_folder_is_mirrored_and_resumed(
    toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translator = FileTranslator(make_loaded(toy, "window"), DecodeConfig(beam=1, length_ratio=0.5, length_extra=2))
    folder, output = tmp_path / "site", tmp_path / "site-de"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.html").write_text("<p>Here is the lamp.</p>")
    (folder / "sub" / "b.txt").write_text("It is very old.\n")
    (folder / "broken.docx").write_bytes(b"nothing")
    (folder / "x.bin").write_bytes(b"\0\1")
    (folder / ".hidden").write_text("no")
    (folder / "robots.txt").write_text("User-agent: *\n")
    capsys.readouterr()
    first = translate_folder(translator, folder, output)
    assert sorted(map(str, first.translated)) == ["a.html", "sub/b.txt"]
    said = " ".join(capsys.readouterr().err.split())
    assert "1 hidden file or folder left out" in said and ".hidden" in said
    assert list(map(str, first.copied)) == ["robots.txt", "x.bin"] and list(map(str, first.failed)) == ["broken.docx"]
    assert (output / "x.bin").read_bytes() == b"\0\1" and not (output / ".hidden").exists()
    (folder / "a.html").write_text("<p>Here is the old lamp.</p>")
    again = translate_folder(translator, folder, output)
    assert list(map(str, again.translated)) == ["a.html"] and again.unchanged == 3
    (folder / "c.txt").write_text("New.\n")
    (output / "c.txt").write_text("a person's own\n")
    with pytest.raises(FensterError, match="not made by this command"):
        translate_folder(translator, folder, output)
    (output / "c.txt").unlink()
    (output / "c.txt").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FensterError, match="not made by this command"):
        translate_folder(translator, folder, output)
    with pytest.raises(FensterError, match="overlaps with an input folder"):
        find_files([folder], folder / "out", FileOptions())


def translate_folder(translator: FileTranslator, folder: Path, output: Path) -> FolderSummary:
    tasks = find_files([folder], output, FileOptions())
    return translate_files(tasks, output, Here(translator), (None, translator.settings()))


def test_several_files_keep_their_names(tmp_path: Path) -> None:
    for name in ("one/a.txt", "one/sub/b.txt", "two/a.txt", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Hi.\n")
    out = tmp_path / "out"
    inputs = [tmp_path / "one", tmp_path / "c.txt", tmp_path / "two" / "a.txt"]
    targets = [task.target.relative_to(out).as_posix() for task in find_files(inputs, out, FileOptions())]
    assert targets == ["one/a.txt", "one/sub/b.txt", "c.txt", "a.txt"]
    with pytest.raises(ConfigError, match="would both be"):
        find_files([tmp_path / "one" / "a.txt", tmp_path / "two" / "a.txt"], out, FileOptions())
    with pytest.raises(InputError, match="no such file"):
        find_files([tmp_path / "missing.txt"], out, FileOptions())
    with pytest.raises(FensterError, match="input"):
        find_files([tmp_path / "c.txt"], tmp_path, FileOptions())
    (tmp_path / "link.txt").symlink_to(tmp_path / "c.txt")
    assert [task.target for task in find_files([tmp_path / "link.txt"], out, FileOptions())] == [out / "link.txt"]


def test_what_is_left_out_of_a_folder_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    (folder / "locked").mkdir(parents=True)
    for name in ("a.txt", "~$report.docx"):
        (folder / name).write_text("Hi.\n")
    (folder / "current.txt").symlink_to(folder / "a.txt")
    everything = Path.iterdir

    def refusing(path: Path) -> object:
        if path.name == "locked":  # tests may run as root, who may read all
            raise PermissionError
        return everything(path)

    monkeypatch.setattr(Path, "iterdir", refusing)
    assert [task.file.name for task in find_files([folder], tmp_path / "out", FileOptions())] == ["a.txt"]
    said = " ".join(capsys.readouterr().err.split())
    assert "1 hidden file or folder left out" in said and "1 symbolic link left out" in said
    assert "1 folder that may not be read left out" in said


@pytest.mark.parametrize(("name", "told"), [("empty", "is an empty folder"), ("links", "holds nothing to translate")])
def test_folders_without_documents(name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / name
    folder.mkdir()
    if name == "links":
        (folder / "a.txt").symlink_to(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["translate", str(folder), "-o", str(tmp_path / "out")])
    assert stopped.value.code == 2 and told in capsys.readouterr().err


def test_names_that_begin_with_a_dash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice of the error works."""
    monkeypatch.chdir(tmp_path)
    Path("-dash.txt").write_text("\n")
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "-dash.txt"])
    assert stopped.value.code == 2
    main(["translate", "./-dash.txt", "-o", "out.txt"])
    assert Path("out.txt").read_text() == "\n"
