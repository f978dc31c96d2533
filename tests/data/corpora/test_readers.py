"""Each format: a golden reading, and a round trip where it can be written."""

import gzip
import lzma
from pathlib import Path

import pytest

from fenster.data.corpora import FORMATS, guess_format, read_corpus
from fenster.data.corpora.synthetic import GeneratedDocument
from fenster.document import Document, ParallelDocument, Segment
from fenster.errors import InputError
from tests.helpers.data import pair

DOCUMENTS = [
    pair("one", ("Hello.", "Hallo."), ("How are you?", "Wie geht es dir?")),
    pair("two", ("Ünïcode 😀 «x»", "Zeichen & mehr"), ("Bye.", "Tschüss.")),
]
WITH_EMPTY = [*DOCUMENTS, pair("three", ("Only source.", ""), ("", "Nur Ziel."), ("Both.", "Beide."))]


def texts(documents: list[ParallelDocument]) -> list[tuple[str, list[str], list[str]]]:
    return [(d.id, d.source.texts, d.target.texts) for d in documents]


@pytest.mark.parametrize(
    ("name", "files", "documents"),
    [
        ("jsonl", ["c.jsonl"], WITH_EMPTY),
        ("jsonl", ["c.jsonl.xz"], WITH_EMPTY),
        ("tsv", ["c.tsv"], WITH_EMPTY),
        ("tsv", ["c.tsv.gz"], WITH_EMPTY),
        ("plain", ["c.en", "c.de", "c.docs"], WITH_EMPTY),
        ("plain", ["c.en.xz", "c.de.gz", "c.docs"], WITH_EMPTY),
        ("folder", ["documents"], DOCUMENTS),
    ],
)
def test_round_trip(tmp_path: Path, name: str, files: list[str], documents: list[ParallelDocument]) -> None:
    paths = [tmp_path / file for file in files]
    write = FORMATS[name].write
    assert write is not None
    assert write(documents, paths) == len(documents)
    assert guess_format(paths).name == name
    back = list(read_corpus(paths))
    assert texts(back) == texts(documents)
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


def test_round_trip_of_two_files_names_documents_by_number(tmp_path: Path) -> None:
    paths = [tmp_path / "c.en", tmp_path / "c.de"]
    FORMATS["plain"].write(DOCUMENTS, paths)  # type: ignore[misc]
    back = list(read_corpus(paths))
    assert [d.id for d in back] == ["1", "2"]
    assert [(d.source.texts, d.target.texts) for d in back] == [t[1:] for t in texts(DOCUMENTS)]
    assert list(back[1].lines) == [4, 5]


def test_generated_documents_survive_every_writable_format(
    tmp_path: Path, toy_documents: list[GeneratedDocument]
) -> None:
    documents = [document.pair for document in toy_documents]
    for name, files in (("jsonl", ["a.jsonl.xz"]), ("tsv", ["a.tsv"]), ("plain", ["a.en", "a.de", "a.docs"])):
        paths = [tmp_path / file for file in files]
        FORMATS[name].write(documents, paths)  # type: ignore[misc]
        assert all(a.same_text(b) for a, b in zip(read_corpus(paths), documents, strict=True))


def test_two_files_refuse_an_empty_segment(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="empty segment"):
        FORMATS["plain"].write(WITH_EMPTY, [tmp_path / "a", tmp_path / "b"])  # type: ignore[misc]
    assert list(tmp_path.iterdir()) == []


def test_jsonl_keeps_segment_ids_and_references(tmp_path: Path) -> None:
    document = ParallelDocument(
        Document("d", (Segment("a", "s1"), Segment("b", "s2"))),
        Document("d", (Segment("x", "s1"), Segment("y", "s2"))),
        (Document("d", (Segment("x2", "s1"), Segment("y2", "s2"))),),
    )
    path = tmp_path / "c.jsonl"
    FORMATS["jsonl"].write([document], [path])  # type: ignore[misc]
    (back,) = read_corpus([path])
    assert back.same_text(document)


def test_crlf_bom_and_unicode_spaces(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes("\ufeffOne\u00a0line.\r\nTwo.\r\n\r\nThree.\r\n".encode())
    (tmp_path / "a.de").write_bytes("Eine\u2009Zeile.\nZwei.\n\nDrei.".encode())
    back = list(read_corpus([tmp_path / "a.en", tmp_path / "a.de"]))
    assert texts(back) == [("1", ["One line.", "Two."], ["Eine Zeile.", "Zwei."]), ("2", ["Three."], ["Drei."])]


def test_several_blank_lines_and_blank_ends_are_one_boundary(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("\n\na\n\n\nb\n\n")
    (tmp_path / "a.de").write_text("\n\nx\n\n\ny\n\n")
    back = list(read_corpus([tmp_path / "a.en", tmp_path / "a.de"]))
    assert [(d.source.texts, list(d.lines)) for d in back] == [(["a"], [3]), (["b"], [6])]


def test_a_line_separator_inside_a_line_does_not_break_it(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("d\tone\u2028two\tx\x0by\n", encoding="utf-8")
    (document,) = read_corpus([tmp_path / "a.tsv"])
    assert document.source.texts == ["one two"]
    assert document.target.texts == ["x\x0by"]


def test_tsv_same_name_after_a_blank_line_is_a_new_document(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("d\ta\tx\n\nd\tb\ty\n")
    assert [d.source.texts for d in read_corpus([tmp_path / "a.tsv"])] == [["a"], ["b"]]


SGML = """<srcset setid="t" srclang="any">
<doc sysid="x" docid="bbc/1" genre="news" origlang="en">
<hl>
<seg id="1">A &amp; B said &lt;no&gt;</seg>
</hl>
<p>
<seg id="2"> AT&T rose
again </seg> <seg id="3">Third</seg>
</p>
</doc>
<DOC docid='bbc/2'><seg id=1>Other</seg></DOC>
</srcset>
"""


def test_old_sgml(tmp_path: Path) -> None:
    source, target = tmp_path / "t-src.en.sgm", tmp_path / "t-ref.de.sgm"
    source.write_text(SGML)
    target.write_text(SGML.replace("Third", "Drittes").replace("Other", "Anderes"))
    first, second = read_corpus([source, target])
    assert first.id == "bbc/1"
    assert first.source.segments == (
        Segment("A & B said <no>", "1"),
        Segment("AT&T rose again", "2"),
        Segment("Third", "3"),
    )
    assert first.target.texts[2] == "Drittes"
    assert list(first.lines) == [4, 7, 8]
    assert (second.id, second.source.texts, second.target.texts) == ("bbc/2", ["Other"], ["Anderes"])


def test_sgml_takes_further_references(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.sgm" for n in "abc"]
    for path in paths:
        path.write_text(SGML.replace("Third", path.stem))
    document = next(read_corpus(paths))
    assert document.target.texts[2] == "b"
    assert [side.texts[2] for side in document.references] == ["c"]


def test_iwslt_ted_test_xml_reads_like_sgml(tmp_path: Path) -> None:
    for code, text in (("en", "Hello."), ("de", "Hallo.")):
        (tmp_path / f"IWSLT17.TED.tst2017.en-de.{code}.xml").write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<refset setid="i" srclang="english">\n'
            '<doc docid="1922" genre="lectures" lang="x">\n<url>http://x</url>\n<title>T: a & b</title>\n'
            f'<seg id="1"> {text} </seg>\n</doc>\n</refset>\n</mteval>\n'
        )
    (document,) = read_corpus(sorted(tmp_path.glob("*.xml"), reverse=True))
    assert (document.id, document.source.texts, document.target.texts) == ("1922", ["Hello."], ["Hallo."])


WMT_XML = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="wmt22test">
  <doc id="a" origlang="en">
    <src lang="en"><p><seg id="1">One &amp; <b>two</b></seg></p><p><seg id="2">Three</seg></p></src>
    <ref lang="de" translator="A"><p><seg id="1">Eins &amp; zwei</seg></p><p><seg id="2">Drei</seg></p></ref>
    <ref lang="de" translator="B"><p><seg id="2">Drei!</seg><seg id="1">Eins, zwei</seg></p></ref>
    <hyp system="s" lang="de"><p><seg id="1">no</seg></p></hyp>
  </doc>
  <doc id="b"><src><seg id="1">Four</seg></src><ref><seg id="1">Vier</seg></ref></doc>
</dataset>
"""


def test_new_wmt_xml_with_several_references(tmp_path: Path) -> None:
    path = tmp_path / "newstest2022.en-de.xml"
    path.write_text(WMT_XML)
    first, second = read_corpus([path])
    assert first.source.segments == (Segment("One & two", "1"), Segment("Three", "2"))
    assert first.target.texts == ["Eins & zwei", "Drei"]
    assert [side.texts for side in first.references] == [["Eins, zwei", "Drei!"]]
    assert (second.id, second.target.texts) == ("b", ["Vier"])


@pytest.mark.parametrize("style", ["doc", "url"])
def test_ted_train_tags(tmp_path: Path, style: str) -> None:
    def talk(number: int, lines: list[str]) -> str:
        opening = f'<doc docid="{number}" genre="lectures">\n' if style == "doc" else ""
        closing = "</doc>\n" if style == "doc" else ""
        head = f"<url>http://t/{number}</url>\n<talkid>{number}</talkid>\n<title>T</title>\n"
        return opening + head + "".join(line + "\n" for line in lines) + closing

    for code, a, b in (("en", "Thank you.", "x < y"), ("de", "Danke.", "x < z")):
        (tmp_path / f"train.tags.en-de.{code}").write_text(talk(7, [a, " " + a]) + talk(9, [b]))
    paths = [tmp_path / f"train.tags.en-de.{code}" for code in ("en", "de")]
    assert texts(list(read_corpus(paths))) == [
        ("7", ["Thank you.", "Thank you."], ["Danke.", "Danke."]),
        ("9", ["x < y"], ["x < z"]),
    ]


def test_opus_names_documents_from_the_ids(tmp_path: Path) -> None:
    (tmp_path / "OS.en").write_text("a\nb\nc\n")
    (tmp_path / "OS.de").write_text("x\n\nz\n")
    (tmp_path / "OS.ids").write_text(
        "de/1921/12806/3712161.xml.gz\ten/1921/12806/1.xml.gz\t1 2\t1\n"
        "de/1921/12806/3712161.xml.gz\ten/1921/12806/1.xml.gz\t3\t2\n"
        "de/2016/5/8.xml.gz\ten/2016/5/9.xml.gz\t1\t1\n"
    )
    back = list(read_corpus([tmp_path / "OS.en", tmp_path / "OS.de", tmp_path / "OS.ids"]))
    assert texts(back) == [("1921_12806_3712161", ["a", "b"], ["x", ""]), ("2016_5_8", ["c"], ["z"])]


def test_readers_stream(tmp_path: Path) -> None:
    """The first document comes before a fault further down is seen: nothing is read ahead."""
    path = tmp_path / "a.tsv"
    path.write_text("d\ta\tx\n\ne\tb\ty\n\nbroken line\n")
    documents = read_corpus([path])
    assert next(documents).id == "d"
    with pytest.raises(InputError, match=r"a\.tsv:5"):
        list(documents)


def test_compressed_files_equal_plain_ones(tmp_path: Path) -> None:
    body = "d\tä\tö\n".encode()
    (tmp_path / "a.tsv").write_bytes(body)
    with gzip.open(tmp_path / "b.tsv.gz", "wb") as gz, lzma.open(tmp_path / "c.tsv.xz", "wb") as xz:
        gz.write(body)
        xz.write(body)
    found = [texts(list(read_corpus([path]))) for path in sorted(tmp_path.iterdir())]
    assert found[0] == found[1] == found[2]
