"""Bad corpora: each fault is named with its file and line, and nothing is written."""

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from fenster.cli import main

Case = tuple[list[str], str, str]


def tsv(body: bytes) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        (folder / "c.tsv").write_bytes(body)
        return [folder / "c.tsv"]

    return make


def two(left: bytes, right: bytes, names: bytes | None = None) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        (folder / "c.en").write_bytes(left)
        (folder / "c.de").write_bytes(right)
        if names is None:
            return [folder / "c.en", folder / "c.de"]
        (folder / "c.docs").write_bytes(names)
        return [folder / "c.en", folder / "c.de", folder / "c.docs"]

    return make


def truncated_xz(folder: Path) -> list[Path]:
    whole = lzma.compress(b"d\tsome text\tsome text\n" * 5000)
    (folder / "c.tsv.xz").write_bytes(whole[: len(whole) // 2])
    return [folder / "c.tsv.xz"]


def one(name: str, body: str) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        (folder / name).write_text(body, encoding="utf-8")
        return [folder / name]

    return make


def sgml(left: str, right: str) -> Callable[[Path], list[Path]]:
    def make(folder: Path) -> list[Path]:
        (folder / "a.sgm").write_text(left)
        (folder / "b.sgm").write_text(right)
        return [folder / "a.sgm", folder / "b.sgm"]

    return make


DOC = '<doc docid="{0}"><seg id="1">{1}</seg></doc>\n'

CASES: dict[str, tuple[Callable[[Path], list[Path]], str, str]] = {
    "line counts": (two(b"a\nb\n", b"x\n"), "c.de:1:", "c.en has 2"),
    "document counts": (two(b"a\n\nb\n", b"x\ny\nz\n"), "c.en:2:", "blank line where"),
    "names file too short": (two(b"a\nb\n", b"x\ny\n", b"d\n"), "c.docs:1:", "line counts differ"),
    "name missing": (two(b"a\nb\n", b"x\ny\n", b"d\n\n"), "c.docs:2:", "no document name"),
    "invalid UTF-8": (tsv(b"d\ta\tx\nd\tb\xe4\ty\n"), "c.tsv:2:", "byte 0xe4"),
    "document empty on one side": (tsv(b"d\ta\tx\n\ne\tb\t\n"), "c.tsv:3:", "'e' is empty on the target side"),
    "columns": (tsv(b"d\ta\tx\nd\tb\n"), "c.tsv:2:", "2 columns"),
    "literal separator": (tsv(b"d\ta\tx\nd\tb <sep> c\ty\n"), "c.tsv:2:", "reserved symbol <sep>"),
    "control character": (tsv(b"d\ta\tx\nd\tb\x07\ty\n"), "c.tsv:2:", "control character U+0007"),
    "truncated xz": (truncated_xz, "c.tsv.xz", "damaged or truncated"),
    "not an xz at all": (one("c.tsv.xz", "d\ta\tx\n"), "c.tsv.xz", "damaged or truncated"),
    "no such file": (lambda folder: [folder / "none.tsv"], "none.tsv", "no such file"),
    "not JSON": (one("c.jsonl", '{"id": "a"\n'), "c.jsonl:1:", "not JSON"),
    "JSON key missing": (one("c.jsonl", '{"id": "a", "source": []}\n'), "c.jsonl:1:", "'target' is missing"),
    "JSON key unknown": (
        one("c.jsonl", '{"id": "a", "source": ["a"], "target": ["b"], "taget": []}'),
        "c.jsonl:1:",
        "unknown key 'taget'",
    ),
    "JSON segment counts": (
        one("c.jsonl", '{"id": "a", "source": ["a", "b"], "target": ["x"]}'),
        "c.jsonl:1:",
        "2 source but 1 target",
    ),
    "JSON not strings": (
        one("c.jsonl", '{"id": "a", "source": [1], "target": ["x"]}'),
        "c.jsonl:1:",
        "lists of strings",
    ),
    "SGML cut short": (
        sgml(DOC.format(1, "a"), '<doc docid="1"><seg id="1">x'),
        "b.sgm:1:",
        "ends inside document",
    ),
    "SGML other document": (sgml(DOC.format(1, "a"), DOC.format(2, "x")), "b.sgm:1:", "document '2' where"),
    "SGML document missing": (
        sgml(DOC.format(1, "a") + DOC.format(2, "b"), DOC.format(1, "x")),
        "b.sgm:",
        "ends before document '2'",
    ),
    "XML not well formed": (
        one("c.xml", "<dataset>\n<doc id='a'>\n<src></dataset>"),
        "c.xml:3:",
        "not well-formed",
    ),
    "XML without reference": (
        one("c.xml", "<dataset>\n<doc id='a'><src><seg id='1'>a</seg></src></doc></dataset>"),
        "c.xml:2:",
        "no <ref>",
    ),
    "XML entity bomb": (
        one("c.xml", "<!DOCTYPE x [\n<!ENTITY a 'aaaa'>]>\n<dataset></dataset>"),
        "c.xml:2:",
        "declares an entity",
    ),
    "unknown suffix": (one("c.bin", "x"), "", "cannot tell the format"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_error_names_file_and_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, where, what = CASES[case]
    paths = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        main(["import", *map(str, paths), "-o", str(tmp_path / "out.jsonl")])
    message = capsys.readouterr().err
    assert ended.value.code == 2
    assert where in message
    assert what in message
    assert "Traceback" not in message
    assert sorted(tmp_path.iterdir()) == before, "nothing may be left behind"
