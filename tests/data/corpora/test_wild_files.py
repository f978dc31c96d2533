"""Files as they are found in the wild: what a careful reader must neither lose, nor change, nor refuse."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fenster.cli import main
from fenster.data.corpora import read_corpus
from fenster.data.corpora.contrapro import read_items
from fenster.document import ParallelDocument
from fenster.errors import InputError
from fenster.io.files import TextFiles
from tests.helpers.waiting import DEADLINE, wait_until


def sgml(folder: Path, source: str, target: str | None = None) -> list[ParallelDocument]:
    for name, body in (("s", source), ("t", source if target is None else target)):
        (folder / f"{name}.sgm").write_text(body)
    return list(read_corpus([folder / "s.sgm", folder / "t.sgm"]))


def doc(*segments: str) -> str:
    return '<doc docid="d">\n' + "\n".join(segments) + "\n</doc>\n"


def test_sgml_tag_broken_over_lines_and_comments(tmp_path: Path) -> None:
    body = (
        '<!-- <doc docid="old"><seg id="1">gone</seg></doc>\n still a comment -->\n'
        '<doc docid="d"\n  genre="a > b">\n<seg\n id="1">one</seg><seg id="2"/>\n<seg id="3">th<!-- x -->ree</seg></doc>'
    )
    (document,) = sgml(tmp_path, body)
    assert document.source.texts == ["one", "", "three"]


def test_sgml_bare_ampersands_stay(tmp_path: Path) -> None:
    text = "&copy 2015 http://x.y/?a=1&section=2&notit=3 &amp; &#228; &lt;"
    (document,) = sgml(tmp_path, doc(f'<seg id="1">{text}</seg>'))
    assert document.source.texts == ["&copy 2015 http://x.y/?a=1&section=2&notit=3 & ä <"]


def test_sgml_a_doc_word_in_a_description_is_no_document(tmp_path: Path) -> None:
    (document,) = sgml(tmp_path, doc("<description>the <doc> tag</description>", '<seg id="1">a</seg>'))
    assert document.source.texts == ["a"]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (
            doc('<seg id="1">a</seg>'),
            doc('<seg id="2">x</seg>'),
            r"t\.sgm:2: .*segment id '2' where the source has '1'",
        ),
        (doc('<seg id="1">a</seg>', '<seg id="1">b</seg>'), None, r"s\.sgm:3: segment id '1' twice"),
        (doc('<seg id="1">a</seg>', '<seg id="2">b'), None, r"s\.sgm:4: segment '2' is not closed"),
        (doc('<seg id="1">a</seg>', 'seg id="2">b</seg>'), None, r"s\.sgm:3: </seg> without <seg>"),
        ("<html><body>404 Not Found</body></html>", None, "no document found"),
    ],
)
def test_sgml_faults_are_never_silent(tmp_path: Path, source: str, target: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sgml(tmp_path, source, target)


def wmt(*documents: str) -> str:
    return "<dataset><collection id='general'>" + "".join(documents) + "</collection></dataset>"


def ref(translator: str, text: str, lang: str = "de") -> str:
    return f"<ref lang='{lang}' translator='{translator}'><seg id='1'>{text}</seg></ref>"


SRC = "<src lang='en'><seg id='1'>a</seg></src>"


def test_wmt_references_are_told_apart_by_translator(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    path.write_text(
        wmt(
            f"<doc id='1'>{SRC}{ref('B', 'b1')}{ref('A', 'a1')}</doc>",
            f"<doc id='2'>{SRC}{ref('A', 'a2')}{ref('B', 'b2')}</doc>",
        )
    )
    assert [(d.target.texts, [r.texts for r in d.references]) for d in read_corpus([path])] == [
        (["b1"], [["a1"]]),
        (["b2"], [["a2"]]),
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"<doc id='1'>{SRC}{SRC}{ref('A', 'x')}</doc>", "two <src>"),
        (f"<doc id='1'>{SRC}{ref('A', 'x')}{ref('B', 'y', 'cs')}</doc>", "a reference in 'cs' after one in 'de'"),
        ("<doc id='1'><src><seg id='1'>a <seg id='2'>b</seg></seg></src></doc>", "<seg> inside segment '1'"),
    ],
)
def test_wmt_faults(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "t.xml").write_text(wmt(body))
    with pytest.raises(InputError, match=message):
        list(read_corpus([tmp_path / "t.xml"]))


def test_ted_headers_may_run_over_lines(tmp_path: Path) -> None:
    for code in ("en", "de"):
        head = "<url>u</url>\n<talkid>1</talkid>\n<description>One\nTwo.</description>\n"
        (tmp_path / f"train.tags.en-de.{code}").write_text(head + f"{code} 1\n\n{code} 2\n")
    (document,) = read_corpus([tmp_path / f"train.tags.en-de.{code}" for code in ("en", "de")])
    assert document.source.texts == ["en 1", "", "en 2"]


def test_opus_documents_differ_when_either_file_does(tmp_path: Path) -> None:
    (tmp_path / "o.en").write_text("a\nb\nc\n")
    (tmp_path / "o.de").write_text("x\ny\nz\n")
    ids = [
        "de/k/app-2.30.xml.gz\ten/k/1.xml.gz",
        "de/k/app-2.32.xml.gz\ten/k/1.xml.gz",
        "de/k/app-2.32.xml.gz\ten/k/2.xml.gz",
    ]
    (tmp_path / "o.ids").write_text("".join(f"{line}\t1\t1\n" for line in ids))
    names = [d.id for d in read_corpus([tmp_path / f"o.{suffix}" for suffix in ("en", "de", "ids")])]
    assert names == ["k_app-2.30", "k_app-2.32", "k_app-2.32"]


def test_contrapro_context_may_be_one_string(tmp_path: Path) -> None:
    record = {
        "src segment": "It.",
        "ref segment": "Er.",
        "errors": [],
        "src context": "The table.",
        "ref context": "Der Tisch.",
    }
    (tmp_path / "c.json").write_text(json.dumps([record]))
    (item,) = read_items(tmp_path / "c.json", TextFiles())
    assert item.document.source.texts == ["The table.", "It."]


@pytest.mark.parametrize(
    "change",
    [
        {"errors": None},
        {"errors": ["a"]},
        {"src segment": 5},
        {"ref segment": None},
        {"src context": [1]},
        {"src segment": "\ud800"},
    ],
)
def test_contrapro_of_other_types_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    record = {"src segment": "It.", "ref segment": "Er.", "errors": [], **change}
    (tmp_path / "c.json").write_text(json.dumps([record]))
    with pytest.raises(InputError, match=r"c\.json: item 1"):
        list(read_items(tmp_path / "c.json", TextFiles()))


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def test_target_faults_name_the_target_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.en").write_text("a\nb\n")
    (tmp_path / "c.de").write_text("x\ny\x01\n")
    assert "c.de:2: target segment 2" in fails(
        capsys, "import", tmp_path / "c.en", tmp_path / "c.de", "-o", tmp_path / "o.jsonl"
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"d\ta\rb\tx\n", "carriage return inside the line"),
        (b"", "no document found"),
        (b"\n\n", "no document found"),
    ],
)
def test_tsv_that_is_none(tmp_path: Path, body: bytes, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.tsv").write_bytes(body)
    assert message in fails(capsys, "data", "stats", tmp_path / "c.tsv")


@pytest.mark.parametrize(
    "line",
    ['{"id":"a","id":"b","source":["a"],"target":["b"]}', '{"id":"a","source":["x \\ud800"],"target":["b"]}', "[" * 100_000,
     '{"id":"","source":["a"],"target":["b"]}', "1" * 5000],
)  # fmt: skip
def test_odd_json_is_refused_with_its_line(tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.jsonl").write_text(line + "\n")
    assert "c.jsonl:1:" in fails(capsys, "import", tmp_path / "c.jsonl", "-o", tmp_path / "o.jsonl")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.tsv").write_text("d\ta\tx\n")
    return tmp_path / "a.tsv"


@pytest.mark.parametrize(
    "output",
    [["."], ["folder"], ["a.tsv/x.jsonl"], ["x" * 300 + ".jsonl"], ["o.jsonl", "b.tsv"], ["same.en", "same.en"], ["o.sgm"],
     ["o.jsonl.bz2"], ["a.tsv"]],
)  # fmt: skip
def test_outputs_that_cannot_be_meant(
    corpus: Path, output: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(corpus.parent)
    Path("folder").mkdir()
    before = sorted(Path().rglob("*"))
    fails(capsys, "import", "a.tsv", "-o", *output)
    assert sorted(Path().rglob("*")) == before
    assert corpus.read_text() == "d\ta\tx\n"


def test_pipes_can_be_read_and_written(corpus: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m fenster import -f tsv <(cat {corpus}) --to tsv -o /dev/stdout"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("d\ta\tx\n")


def test_a_link_is_followed(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "real.jsonl").write_text("")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    main(["import", str(corpus), "-o", str(tmp_path / "link.jsonl")])
    assert (tmp_path / "link.jsonl").is_symlink()
    assert "source" in (tmp_path / "real.jsonl").read_text()


def test_sigterm_leaves_nothing_behind(tmp_path: Path) -> None:
    pipe = tmp_path / "slow.tsv"
    os.mkfifo(pipe)
    (tmp_path / "out").mkdir()
    command = [
        sys.executable,
        "-m",
        "fenster",
        "import",
        str(pipe),
        "-f",
        "tsv",
        "-o",
        str(tmp_path / "out" / "o.jsonl"),
    ]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    with pipe.open("w") as stream:
        stream.write("d\ta\tx\n\n" * 20_000)
        stream.flush()
        wait_until(lambda: list((tmp_path / "out").iterdir()), child)
        child.send_signal(signal.SIGTERM)
        child.wait(DEADLINE)
    assert child.returncode == 128 + signal.SIGTERM
    assert list((tmp_path / "out").iterdir()) == []
