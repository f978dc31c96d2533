"""Document formats: nothing lost, nothing changed but the words, on files that real programs made."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import textwrap
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import fenster
from fenster.cli import main
from fenster.data.corpora import read_corpus
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.files import DOCUMENT_FORMATS, FileOptions, FileSegment, ParsedFile, document_format
from fenster.decode.files.inline import Part, Unit
from fenster.decode.files.translate import FileTranslator
from fenster.decode.result import Translated
from fenster.errors import ConfigError, FensterError, InputError
from fenster.io.files import FileSource
from tests.helpers.files import louder
from tests.helpers.models import make_loaded, write_model
from tests.helpers.office import docx, odt, pptx, wrapped, zipped

FILES = Path(__file__).resolve().parents[1] / "files"
GOOD, BAD = sorted((FILES / "good").iterdir()), sorted((FILES / "bad").iterdir())
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def parse(data: bytes, name: str, **options: Any) -> ParsedFile:
    path = Path(name)
    return document_format(None, path).parse(FileSource(data, path), FileOptions(**options))


def render(parsed: ParsedFile, translate: Callable[[FileSegment], str]) -> bytes:
    translated = iter([Translated(one.text, translate(one)) for one in parsed.segments])
    data = b"".join(one.encode() if isinstance(one, str) else one for one in parsed.render(translated))
    assert next(translated, None) is None, "every segment was used"
    return data


def backwards(segment: FileSegment) -> str:
    """Words in reverse order, marks around or between them as they nest."""
    words = segment.words.upper().split(" ")
    marks = [segment.text[mark.start : mark.end] for mark in segment.marks]
    return " ".join(reversed(words)) + "".join(marks)


def words(data: bytes) -> str:
    """All text of an XML file or of an archive of such."""
    if data[:2] != b"PK":
        return data.decode()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "".join(
            "".join(etree.fromstring(archive.read(name)).itertext())  # type: ignore[arg-type]
            for name in archive.namelist()
            if name.endswith(("xml", ".xhtml", ".opf", ".ncx")) and archive.read(name)
        )


BESIDE = (".po", ".pot", ".xlf")  # translations stand beside their source


@pytest.mark.parametrize("path", [path for path in GOOD if path.suffix not in BESIDE], ids=lambda path: path.name)
def test_a_translator_that_copies_gives_the_same_bytes(path: Path) -> None:
    data = path.read_bytes()
    assert render(parse(data, path.name), lambda one: one.text) == data


def test_a_translation_that_equals_its_source_is_written_beside_it() -> None:
    """A name, or nothing but an address: an empty target would be shown as one."""
    catalogue = (
        'msgid "Name"\nmsgstr ""\n\n#, fuzzy\nmsgid "Version"\nmsgstr "Wrong"\n\nmsgid "%s"\nmsgstr ""\n\n'
        'msgid "Day"\nmsgstr "Tag"\n'
    )
    made = render(parse(catalogue.encode(), "a.po"), lambda one: one.text).decode()
    assert 'msgid "Name"\nmsgstr "Name"' in made and 'msgid "Version"\nmsgstr "Version"' in made
    assert 'msgid "%s"\nmsgstr "%s"' in made and 'msgstr "Tag"' in made
    table = b"id,en,de\n1,Name,\n2,Good night,Gute Nacht\n"
    assert render(parse(table, "a.csv"), lambda one: one.text) == table.replace(b"Name,", b"Name,Name")
    xliff = """<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
        <file source-language="en" datatype="x" original="x"><body>
        <trans-unit id="1"><source>Name</source></trans-unit></body></file></xliff>"""
    made = render(parse(xliff.encode(), "a.xlf"), lambda one: one.text).decode()
    assert '<target state="needs-review-translation">Name</target>' in made


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
@pytest.mark.parametrize("translate", [louder, backwards])
def test_nothing_is_lost(path: Path, translate: Callable[[FileSegment], str]) -> None:
    """Letters, whatever their order and case, stay the same, and so do all parts of an archive."""
    data = path.read_bytes()
    parsed = parse(data, path.name)
    made = render(parsed, translate)
    assert made != data
    if path.suffix in (".po", ".pot", ".xlf", ".yml"):
        return  # they get more text: translations beside their source, or another language
    before, after = (sorted(c for c in words(one).casefold() if c.isalnum()) for one in (data, made))
    if data[:2] == b"PK":
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(io.BytesIO(made)) as new:
            assert old.namelist() == new.namelist() and new.testzip() is None
    if path.suffix == ".docx" and "handbook" in path.name:
        return  # a text box has a second version for old programs, with a shorter text
    if path.suffix in (".docx", ".odt", ".odp", ".pptx"):
        assert before == after


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.name)
def test_damaged_files_are_refused(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["translate", str(path), "-o", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and path.name in said and "Traceback" not in said, said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({"word/document.xml": "0" * 3_000_000}, "suspiciously high"),
        ({f"p{number}": "" for number in range(10_001)}, "10,001 parts"),
        ({"/etc/evil": "x"}, "outside the archive"),
        ({"word/document.xml": "<a><b></a>"}, "not well-formed"),
    ],
    ids=["bomb", "parts", "absolute", "broken"],
)
def test_archives_are_checked(parts: dict[str, str], wanted: str) -> None:
    with pytest.raises(InputError, match=wanted):
        parse(zipped(parts), "a.docx")


def test_nothing_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("XXE-CANARY")
    entity = f'<!DOCTYPE d [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    with pytest.raises(InputError, match="document type"):
        parse(zipped({"word/document.xml": f"{entity}<d>&x;</d>"}), "a.docx")


@pytest.mark.parametrize("name", [name for name in DOCUMENT_FORMATS if name != "jsonl"])
def test_random_weights_keep_every_format(name: str, toy: PreparedData, tmp_path: Path) -> None:
    """A translator that writes nonsense leaves files that can be read again, with as many paragraphs."""
    translator = FileTranslator(
        make_loaded(toy, "window"), DecodeConfig(beam=1, length_ratio=1.0, length_extra=2, guards=False)
    )
    lines = ["Here is the lamp.", 'It is "very" old & <b>red</b>, it costs $5.', "See https://example.com/a_b?c=1"]
    suffix = DOCUMENT_FORMATS[name].suffixes[0]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(wrapped(name, lines))
    summary = translator.translate_file(path, language="en", target="de")
    assert summary.output == tmp_path / f"a.de{suffix}"
    again = parse(summary.output.read_bytes(), f"b{suffix}")
    assert "https://example.com/a_b?c=1" in words(summary.output.read_bytes()).replace("\\", "")
    assert again.segments or name in ("po", "xliff"), "those have their translations now"
    with pytest.raises(FensterError, match="exists already"):
        translator.translate_file(path)


def test_units_keep_marks_and_spaces() -> None:
    parts = [
        Part("single", value="image"),
        Part("words", " See "),
        Part("open", pair=1, value="<a>"),
        Part("words", "the manual"),
        Part("close", pair=1, value="</a>"),
        Part("words", "\n  now.  Then "),
        Part("single", value="<code>"),
        Part("words", " ends.\u00a0"),
    ]
    unit = Unit.of(parts, 1, "en")
    assert unit is not None
    assert [one.words for one in unit.segments] == ["See the manual now.", "Then  ends."]
    assert unit.translated(iter([Translated(one.text, one.text) for one in unit.segments])) is None
    made = unit.translated(iter([Translated(one.text, louder(one)) for one in unit.segments]))
    assert made is not None
    assert "".join(part.words or str(part.value) for part in made) == (
        "image SEE <a>THE MANUAL</a> NOW. THEN <code> ENDS.\u00a0"
    )
    assert Unit.of([Part("words", " … "), Part("single", value="x")], 1, "en") is None


def test_private_characters_of_a_text_are_kept() -> None:
    unit = Unit.of([Part("words", "An icon \ue0f0 here.")], 1, "en")
    assert unit is not None
    made = unit.translated(iter([Translated(one.text, louder(one)) for one in unit.segments]))
    assert made is not None and "".join(part.words for part in made) == "AN ICON \ue0f0 HERE."


def test_broken_nesting_is_repaired() -> None:
    marks = [Part(kind, pair=pair) for kind, pair in (("open", 1), ("open", 2), ("close", 2), ("close", 1))]  # type: ignore[arg-type]
    unit = Unit.of([Part("words", "a "), *marks[:2], Part("words", "b"), *marks[2:], Part("words", " c")], 1, "en")
    assert unit is not None
    text = unit.segments[0].text
    spelt = [text[mark.start : mark.end] for mark in unit.segments[0].marks]
    crossed = f"x {spelt[0]}{spelt[1]}y{spelt[3]}{spelt[2]}"
    made = unit.translated(iter([Translated(text, crossed)]))
    assert made is not None and [part.pair for part in made if part.kind != "words"] == [1, 2, 2, 1]


HTML = """<!DOCTYPE html>
<html><head><title>A title</title><style>p { color: red }</style></head>
<body title='Don&apos;t'><!-- A note --><p>One <b>two</b> three.<br>Four &amp; <code>five</code>.</p>
<p translate="no">Six</p><pre>Seven</pre><img alt="Eight" src=x><ul><li><a href="?a=1&amp;b=2">Nine</a>
<li>Ten</ul><p>Eleven <i>twelve <b>thirteen</i> fourteen</b><script>"Fifteen"</script>
<input type=submit value="Sixteen"><textarea>Seventeen</textarea></body></html>
"""


def test_html() -> None:
    parsed = parse(HTML.encode(), "a.html")
    assert [one.words.strip() for one in parsed.segments] == [
        "A title", "Don't", "One two three.", "Four & .", "Eight", "Nine", "Ten", "Eleven twelve thirteen fourteen",
        "Sixteen",
    ]  # fmt: skip
    made = render(parsed, louder).decode()
    assert made == (
        HTML.replace("<html>", '<html lang="de">')
        .replace("A title", "A TITLE")
        .replace("Don&apos;t", "DON&#39;T")
        .replace("One <b>two</b> three.", "ONE <b>TWO</b> THREE.")
        .replace("Four", "FOUR")
        .replace("Eight", "EIGHT")
        .replace("Nine", "NINE")
        .replace("Ten", "TEN")
        .replace("Eleven <i>twelve <b>thirteen</i> fourteen", "ELEVEN <i>TWELVE <b>THIRTEEN</i> FOURTEEN")
        .replace("Sixteen", "SIXTEEN")
    )


def test_html_in_another_encoding() -> None:
    data = '<meta charset="iso-8859-1"><p>Caf\u00e9 and tea</p>'.encode("latin-1")
    made = render(parse(data, "a.html"), lambda one: "„Café“")
    assert made == '<meta charset="iso-8859-1"><p>&#8222;Caf\u00e9&#8220;</p>'.encode("latin-1")


def test_pages_that_say_latin_1_and_are_windows_1252() -> None:
    data = b'<meta charset="iso-8859-1"><p>The \x93price\x94 is 5 \x80.</p><p>Tea</p>'
    parsed = parse(data, "a.html")
    assert [one.text for one in parsed.segments] == ["The “price” is 5 €.", "Tea"]
    assert render(parsed, lambda one: one.text.replace("Tea", "Tee")) == data.replace(b"Tea", b"Tee")


DOCX = (
    '<w:p><w:pPr><w:jc w:val="left"/></w:pPr><w:bookmarkStart w:id="0" w:name="a"/>'
    '<w:r w:rsidR="1"><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t xml:space="preserve">One </w:t></w:r>'
    "<w:proofErr/><w:r><w:t>t</w:t></w:r><w:r><w:t>wo </w:t></w:r>"
    '<w:hyperlink w:anchor="x"><w:r><w:rPr><w:b/></w:rPr><w:t>three</w:t></w:r></w:hyperlink>'
    '<w:bookmarkEnd w:id="0"/>'
    '<w:r><w:t xml:space="preserve"> four.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
    "<w:r><w:tab/></w:r><w:r><w:t>Five</w:t></w:r>"
    "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> PAGE </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>7</w:t></w:r>'
    '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    "</w:p>"
    '<w:p><w:pPr><w:pStyle w:val="SourceCode"/></w:pPr><w:r><w:t>code</w:t></w:r></w:p>'
)


def test_word_runs_with_the_same_look_are_one() -> None:
    parsed = parse(docx(DOCX), "a.docx")
    assert [one.words for one in parsed.segments] == ["One two three four.", "Five"]
    with zipfile.ZipFile(io.BytesIO(render(parsed, louder))) as archive:
        root = etree.fromstring(archive.read("word/document.xml"))
    first = root[0][0]
    assert [child.tag.removeprefix(W) for child in first] == [
        "pPr", "bookmarkStart", "r", "hyperlink", "bookmarkEnd", "r", "r", "r", "r", "del", "r", "r", "r", "r", "r",
    ]  # fmt: skip
    link = first.find(f"{W}hyperlink")
    assert link is not None and link.get(f"{W}anchor") == "x"
    assert link.find(f"{W}r/{W}rPr/{W}b") is not None and "".join(link.itertext()) == "THREE"  # type: ignore[arg-type]
    assert {one.get(f"{W}val") for one in root.iter(f"{W}lang")} == {"de-DE"}
    assert "".join(root.itertext()) == "ONE TWO THREE FOUR.FIVEgone PAGE 7code"  # type: ignore[arg-type]


def test_a_link_that_is_most_of_a_paragraph_keeps_its_style_to_itself() -> None:
    style = '<w:rPr><w:rStyle w:val="Hyperlink"/></w:rPr>'
    link = f'<w:hyperlink w:anchor="x"><w:r>{style}<w:t>Our general terms of business</w:t></w:r></w:hyperlink>'
    parsed = parse(docx(f'<w:p>{link}<w:r><w:t xml:space="preserve"> apply.</w:t></w:r></w:p>'), "a.docx")
    with zipfile.ZipFile(io.BytesIO(render(parsed, louder))) as archive:
        root = etree.fromstring(archive.read("word/document.xml"))
    (paragraph,) = root.iter(W + "p")
    assert [child.tag.removeprefix(W) for child in paragraph] == ["hyperlink", "r"]
    assert [len(list(child.iter(W + "rStyle"))) for child in paragraph] == [1, 0]


def test_opendocument_and_powerpoint() -> None:
    note = "<text:note><text:p>A note</text:p></text:note>"
    data = odt(f"<text:p>One <text:span>two</text:span> three<text:s/>{note}.</text:p>")
    parsed = parse(data, "a.odt")
    assert [one.words for one in parsed.segments] == ["One two three .", "A note"]
    assert "ONE TWO THREE" in words(render(parsed, louder))
    data = pptx(
        '<a:p><a:r><a:rPr b="1"/><a:t>One</a:t></a:r><a:r><a:t> two</a:t></a:r><a:br/><a:r><a:t>x y</a:t></a:r></a:p>'
    )
    parsed = parse(data, "a.pptx")
    assert [one.words for one in parsed.segments] == ["One two", "x y"]
    assert words(render(parsed, louder)) == "ONE TWOX Y"


def test_what_was_deleted_stays_before_what_replaces_it() -> None:
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
    deleted = "<w:del w:id='1'><w:r><w:delText>never</w:delText></w:r></w:del>"
    inserted = f"<w:ins w:id='2'>{run.format('always')}</w:ins>"
    parsed = parse(docx(f"<w:p>{run.format('He will ')}{deleted}{inserted}{run.format(' pay.')}</w:p>"), "a.docx")
    assert [one.words for one in parsed.segments] == ["He will always pay."]
    with zipfile.ZipFile(io.BytesIO(render(parsed, louder))) as archive:
        root = etree.fromstring(archive.read("word/document.xml"))
    (paragraph,) = root.iter(W + "p")
    assert [child.tag.removeprefix(W) for child in paragraph] == ["r", "del", "ins", "r"]
    assert "".join(str(text) for text in paragraph.itertext()) == "HE WILL neverALWAYS PAY."


def test_what_was_deleted_behind_an_insertion_stays_out_of_it() -> None:
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
    deleted = "<w:del w:id='1'><w:r><w:delText>never</w:delText></w:r></w:del>"
    body = f"<w:p><w:ins w:id='2'>{run.format('Always ')}</w:ins>{deleted}{run.format('he pays.')}</w:p>"
    parsed = parse(docx(body), "a.docx")
    assert [one.words for one in parsed.segments] == ["Always he pays."]
    with zipfile.ZipFile(io.BytesIO(render(parsed, louder))) as archive:
        (paragraph,) = etree.fromstring(archive.read("word/document.xml")).iter(W + "p")
    assert [child.tag.removeprefix(W) for child in paragraph] == ["ins", "del", "r"]


def test_descriptions_of_pictures_are_translated() -> None:
    wp = 'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    body = f'<w:tbl><w:tblPr><w:tblCaption w:val="Old lamps"/></w:tblPr></w:tbl><w:p><w:r><w:drawing><wp:inline {wp}>'
    body += '<wp:docPr id="1" name="Picture 1" descr="A lamp"/></wp:inline></w:drawing></w:r></w:p>'
    parsed = parse(docx(body), "a.docx")
    assert [one.text for one in parsed.segments] == ["Old lamps", "A lamp"]
    with zipfile.ZipFile(io.BytesIO(render(parsed, louder))) as archive:
        made = archive.read("word/document.xml").decode()
    assert 'descr="A LAMP"' in made and 'name="Picture 1"' in made and 'w:val="OLD LAMPS"' in made
    p = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    data = render(parse(pptx(f'<p:cNvPr {p} id="1" name="a" descr="A lamp"/><a:p/>'), "a.pptx"), louder)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert 'descr="A LAMP"' in archive.read("ppt/slides/slide1.xml").decode()
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    assert "A LAMP" in words(render(parse(odt(f"<svg:desc {svg}>A lamp</svg:desc>"), "a.odt"), louder))


def test_code_in_opendocument_is_kept() -> None:
    style = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    styles = f'<style:style {style} style:name="T2" style:family="text" style:parent-style-name="Source_20_Text"/>'
    spans = "".join(
        f'<text:span text:style-name="{name}">print it</text:span>, ' for name in ("T2", "Source_Text", "T3")
    )
    parsed = parse(odt(f"{styles}<text:p>Run {spans}then.</text:p>"), "a.odt")
    assert words(render(parsed, louder)) == "RUN print it, print it, PRINT IT, THEN."


def test_what_is_raised_stays_with_what_it_belongs_to() -> None:
    style = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    styles = (
        f'<style:style {style} style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
    )
    body = '<text:p>It is 10<text:span text:style-name="T1">6</text:span> m.</text:p>'
    parsed = parse(odt(styles + body), "a.odt")
    assert [one.words for one in parsed.segments] == ["It is 10 m."] and len(parsed.segments[0].marks) == 1
    assert words(render(parsed, louder)) == "IT IS 106 M."
    runs = ((0, "It is 10"), (30000, "6"), (0, " m."))
    data = "".join(f'<a:r><a:rPr baseline="{baseline}"/><a:t>{text}</a:t></a:r>' for baseline, text in runs)
    (segment,) = parse(pptx(f"<a:p>{data}</a:p>"), "a.pptx").segments
    assert segment.words == "It is 10 m."


SEGMENTED = """<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1">
<source>Open the door. Go.</source><seg-source><mrk mid="1" mtype="seg">Open <g id="1">the</g> door.</mrk> <mrk
mid="2" mtype="seg">Go.</mrk></seg-source>TARGET</trans-unit></body></file></xliff>"""


@pytest.mark.parametrize(
    ("target", "segments", "translated"),
    [
        ("", ["Open the door.", "Go."], ["OPEN THE DOOR.", "GO."]),
        (
            '<target><mrk mid="1" mtype="seg"/> <mrk mid="2" mtype="seg"/></target>',
            ["Open the door.", "Go."],
            ["OPEN THE DOOR.", "GO."],
        ),
        (
            '<target><mrk mid="1" mtype="seg">Tür auf.</mrk> <mrk mid="2" mtype="seg"></mrk></target>',
            ["Go."],
            ["Tür auf.", "GO."],
        ),
        ("<target>Tür auf. Geh.</target>", [], []),
    ],
)
def test_segments_of_xliff_stay_segments(target: str, segments: list[str], translated: list[str]) -> None:
    data = SEGMENTED.replace("TARGET", target).encode()
    parsed = parse(data, "a.xlf")
    assert [one.words for one in parsed.segments] == segments
    made = render(parsed, louder)
    assert segments or made == data
    marks = etree.fromstring(made).findall(".//{*}target/{*}mrk")
    assert ["".join(map(str, mark.itertext())) for mark in marks] == translated
    assert bool(re.search("existing translation", " ".join(parsed.remarks()))) == (len(segments) < 2)


@pytest.mark.parametrize("state", ["needs-review-translation", "translated", "needs-l10n"])
def test_what_people_translated_is_not_translated_again(state: str) -> None:
    text = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1"><source>Hi</source>'
    text += f'<target state="{state}">Da</target></trans-unit><trans-unit id="2"><source>Yes</source>'
    text += '<target state="needs-translation">Yes</target></trans-unit></body></file></xliff>'
    parsed = parse(text.encode(), "a.xlf")
    assert [one.text for one in parsed.segments] == ["Yes"]
    render(parsed, louder)
    assert "1 existing translation left unchanged" in parsed.remarks()


def test_units_of_xliff_with_choices_are_left_alone_and_counted() -> None:
    text = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1"><source>Hi</source>'
    text += "</trans-unit><trans-unit id='2'><source>{VAR, select, male {his car} other {their car}}</source>"
    text += "</trans-unit></body></file></xliff>"
    parsed = parse(text.encode(), "a.xlf")
    assert [one.text for one in parsed.segments] == ["Hi"]
    assert b"his car" in render(parsed, louder) and "1 unit left unchanged" in parsed.remarks()[-1]


def test_the_header_of_a_catalogue_says_how_plurals_are_formed() -> None:
    begin, end = 'msgid ""\nmsgstr ""\n"Language: \\n"\n', '\nmsgid "One"\nmsgstr ""\n'
    plural = '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
    for given in ("", '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n', plural):
        made = render(parse((begin + given + end).encode(), "a.po"), louder).decode()
        assert made.startswith(begin.replace(": ", ": de") + plural + "\n"), given


def test_gettext_keeps_what_is_translated() -> None:
    data = (
        'msgid ""\nmsgstr "Language: \\n"\n\n#, fuzzy\nmsgid "Open"\nmsgstr "Alt"\n\nmsgid "Close"\nmsgstr "Zu"\n\n'
    )
    data += 'msgid "one"\nmsgid_plural "%d more"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    parsed = parse(data.encode(), "a.po")
    assert [one.text for one in parsed.segments] == ["Open", "one", "%d more"]
    made = render(parsed, lambda one: f"<{one.text}>").decode()
    plural = 'Language: de\\n"\n"Plural-Forms: nplurals=2; plural=(n != 1);'
    assert made == data.replace('"Alt"', '"<Open>"').replace("Language: ", plural).replace(
        'msgid "one"', '#, fuzzy\nmsgid "one"'
    ).replace('msgstr[0] ""', 'msgstr[0] "<one>"').replace('msgstr[1] ""', 'msgstr[1] "<%d more>"')


def test_json_keys_and_descriptions_stay() -> None:
    data = '{"a": "One", "@a": {"description": "About a"}, "b": ["Two", 3, {"c": "Thr\\u00e9e"}], "@@locale": "en"}'
    made = render(parse(data.encode(), "a.json"), louder).decode()
    assert json.loads(made) == {
        "a": "ONE", "@a": {"description": "About a"}, "b": ["TWO", 3, {"c": "THRÉE"}], "@@locale": "en",
    }  # fmt: skip
    assert made.isascii(), "written as it was"


def test_csv_columns() -> None:
    data = b'id,en,de,note\r\n1,"One, two",,x\r\n2,Three,Drei,y\r\n'
    made = render(parse(data, "a.csv"), louder)
    assert made == b'id,en,de,note\r\n1,"One, two","ONE, TWO",x\r\n2,Three,Drei,y\r\n'
    made = render(parse(data, "a.csv", columns=("note", "en")), louder)
    assert made == b'id,en,de,note\r\n1,"ONE, TWO",,X\r\n2,THREE,Drei,Y\r\n'
    with pytest.raises(ConfigError, match="no column 'fr'"):
        parse(data, "a.csv", columns=("fr",))
    with pytest.raises(ConfigError, match="which columns"):
        parse(b"a,b\n1,2\n", "a.csv")


WRAPPED = """The old clock

    Mrs Becker opened the door of her small shop at nine
    o'clock, as she did every morning. A young man was
    already waiting outside.

Dear Sir,
thank you.

- First of all you open the lid, and then you look for the
  small red lever on the left.
- Close it.
"""


def test_wrapped_paragraphs_are_joined_and_wrapped_again() -> None:
    parsed = parse(WRAPPED.encode(), "a.txt")
    assert [one.text for one in parsed.segments if one.text] == [
        "The old clock",
        "Mrs Becker opened the door of her small shop at nine o'clock, as she did every morning.",
        "A young man was already waiting outside.",
        "Dear Sir,",
        "thank you.",
        "First of all you open the lid, and then you look for the small red lever on the left.",
        "Close it.",
    ]
    assert render(parsed, lambda one: one.text).decode() == WRAPPED
    assert render(parsed, louder).decode() == WRAPPED.upper()
    longer = render(parsed, lambda one: one.text.replace("lid", "very large and heavy lid")).decode()
    assert "- First of all you open the very large and heavy lid, and\n  then you look" in longer
    lines = parse(WRAPPED.encode(), "a.txt", keep_lines=True)
    assert render(lines, louder).decode().count("\n") == WRAPPED.count("\n") and len(lines.segments) > 10


def test_from_python_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(docx("<w:p><w:r><w:t>Good morning!</w:t></w:r></w:p>"))
    main(["translate", str(path)])
    assert "a.de.docx" in capsys.readouterr().out
    assert "Guten Morgen!" in words((tmp_path / "a.de.docx").read_bytes())
    summary = fenster.load().translate_file(path, tmp_path / "b.docx")
    assert summary.output == tmp_path / "b.docx"
    assert (tmp_path / "b.docx").read_bytes() == (tmp_path / "a.de.docx").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".docx", ".odt", ".epub", ".html"])
def test_other_programs_read_what_is_written(suffix: str, tmp_path: Path) -> None:
    """pandoc, and LibreOffice if it is there."""
    if shutil.which("pandoc") is None:
        pytest.skip("needs pandoc")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(render(parse((FILES / "good" / f"pandoc_report{suffix}").read_bytes(), path.name), louder))
    command = ["pandoc", str(path), "-t", "plain", "--wrap=none"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "THE SUMMER WAS BETTER THAN WE HAD FEARED" in shown
    if shutil.which("soffice") is not None and suffix in (".docx", ".odt"):
        profile = f"-env:UserInstallation=file://{tmp_path}/profile"
        convert = ["soffice", profile, "--headless", "--convert-to", "txt:Text", "--outdir", str(tmp_path), str(path)]
        subprocess.run(convert, check=True, capture_output=True, timeout=300)
        assert "THE SUMMER WAS BETTER" in (tmp_path / "a.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", [".html", ".docx", ".tmx", ".xlf"])
def test_bilingual_output(suffix: str, tmp_path: Path, toy: PreparedData) -> None:
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    source, review = tmp_path / "a.html", tmp_path / f"review{suffix}"
    source.write_text("<p>Here is <b>the</b> lamp &amp; it is old.</p><p>Are you tired?</p>")
    command = ["translate", str(source), "-m", str(model), "--beam", "1", "--bilingual", str(review)]
    main([*command, "-o", str(tmp_path / "b.html")])
    data = review.read_bytes()
    shown = words(data) if suffix == ".docx" else data.decode().replace("&amp;", "&")
    assert "Here is the lamp & it is old." in shown and "Are you tired?" in shown
    if suffix in (".tmx", ".xlf"):
        (document,) = read_corpus([review])
        assert document.source.texts == ["Here is the lamp & it is old.", "Are you tired?"]
        main(["translate", str(source), "-m", str(model), "--history", str(review), "-o", str(tmp_path / "c.html")])
    with pytest.raises(SystemExit) as stopped:
        main([*command[:-1], str(tmp_path / "review.pdf"), "-o", str(tmp_path / "d.html")])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("a.html", "<p>Hello <?php echo $x ?>, you.</p>", "<p>HELLO <?php echo $x ?>, YOU.</p>"),
        ("a.html", "<p>Hello <![CDATA[raw]]> there.</p>", "<p>HELLO <![CDATA[raw]]> THERE.</p>"),
        ("a.html", "<p>&#xe0f0; Hello</p>", "<p>\ue0f0 HELLO</p>"),
        ("a.html", "<html lang=en><p>One</p>", "<html lang=de><p>ONE</p>"),
        ("a.html", '<html xml:lang="en" lang="en"><p>One</p>', '<html xml:lang="de" lang="de"><p>ONE</p>'),
        ("a.html", "<img data-x=' alt=\"foo\"' alt=\"Real\">", "<img data-x=' alt=\"foo\"' alt=\"REAL\">"),
        ("a.html", "<p translate=no>keep<p>Hello", "<p translate=no>keep<p>HELLO"),
        ("a.html", '<meta charset="utf-16"><p>One</p>', '<meta charset="utf-16"><p>ONE</p>'),
        ("a.yml", '"en":\n  a: Hello\n', '"de":\n  a: HELLO\n'),
        ("a.yml", "&x en:\n  a: Hello\n", "&x de:\n  a: HELLO\n"),
        ("a.yml", "a: Hello\nb: |", "a: HELLO\nb: |"),
        ("a.yml", "a: &k\n  >\n  Hello there\n  you\n", "a: &k\n  >\n  HELLO THERE YOU\n"),
        ("a.yml", "a: >\n  One\n  two.\n    - item\n  back\n", "a: >\n  ONE TWO.\n    - ITEM\n  BACK\n"),
        ("a.yml", "a: Hello # note\nb: yes\nc: 1.0\n", "a: HELLO # note\nb: yes\nc: 1.0\n"),
        ("a.po", 'msgid ""\n  "Hello "\n  "you"\nmsgstr ""\n', '#, fuzzy\nmsgid ""\n  "Hello "\n  "you"\nmsgstr "HELLO YOU"\n'),  # noqa: E501
        ("a.po", 'msgid "Open\\tCtrl+O"\nmsgstr ""\n', '#, fuzzy\nmsgid "Open\\tCtrl+O"\nmsgstr "OPEN\\tCTRL+O"\n'),
        ("a.po", 'msgid "One"\nmsgstr[0] ""\nmsgstr[1] ""\n', '#, fuzzy\nmsgid "One"\nmsgstr[0] "ONE"\nmsgstr[1] "ONE"\n'),  # noqa: E501
        ("a.po", 'msgid "One"\n# note\nmsgstr ""\n', '#, fuzzy\nmsgid "One"\n# note\nmsgstr "ONE"\n'),
        ("a.csv", "id;en;x;de\n1;Hello\n2;Hi;;Da\n", "id;en;x;de\n1;Hello;;HELLO\n2;Hi;;Da\n"),
        ("a.json", '{"a": "x   y\\n\\ue0f0 Hello"}', '{"a": "X   Y\\n\\ue0f0 HELLO"}'),
        ("a.po", 'msgid "  -p       ask  first\\n"\nmsgstr ""\n', '#, fuzzy\nmsgid "  -p       ask  first\\n"\nmsgstr "  -P       ASK FIRST\\n"\n'),  # noqa: E501
        ("a.po", 'msgid "Save &As..."\nmsgstr ""\n', '#, fuzzy\nmsgid "Save &As..."\nmsgstr "S&AVE AS..."\n'),
        ("a.po", 'msgid "_Quit AT&T"\nmsgstr ""\n', '#, fuzzy\nmsgid "_Quit AT&T"\nmsgstr "_QUIT AT&T"\n'),
        ("a.po", 'msgid "A file_name &amp; B"\nmsgstr ""\n', '#, fuzzy\nmsgid "A file_name &amp; B"\nmsgstr "A FILE_NAME &AMP; B"\n'),  # noqa: E501
        ("a.html", "<p>Run <tt>a b</tt> now", "<p>RUN <tt>a b</tt> NOW"),
    ],
)  # fmt: skip
def test_what_a_hunter_of_bad_input_found(name: str, text: str, wanted: str) -> None:
    assert render(parse(text.encode(), name), louder).decode() == wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yml", 'a: "\\UFFFFFFFF"'),
        ("a.html", '<meta charset="undefined"><p>x</p>'),
        ("a.html", '<meta charset="unicode_escape"><p>x</p>'),
    ],
)
def test_strange_encodings_are_refused(name: str, text: str) -> None:
    with pytest.raises(InputError):
        parse(text.encode(), name)


def test_containers_keep_their_properties_once() -> None:
    body = "<w:p><w:smartTag><w:smartTagPr/><w:r><w:t>Hello</w:t></w:r></w:smartTag><w:r><w:t> you</w:t></w:r></w:p>"
    with zipfile.ZipFile(io.BytesIO(render(parse(docx(body), "a.docx"), louder))) as archive:
        made = archive.read("word/document.xml").decode()
    assert made.count("smartTagPr") == 1 and "HELLO" in made


def test_runs_of_spaces_stay_in_opendocument() -> None:
    data = odt('<text:p><text:s text:c="4"/>Hello<text:tab/><text:s text:c="3"/>you</text:p>')
    with zipfile.ZipFile(io.BytesIO(render(parse(data, "a.odt"), louder))) as archive:
        made = archive.read("content.xml").decode()
    assert '<text:s text:c="4"/>HELLO<text:tab/>' in made and made.count("text:s ") == 2, made
    assert "YOU" in words(render(parse(odt('<text:p>you<text:s text:c="x"/></text:p>'), "a.odt"), louder))


def test_finished_translations_of_xliff_stay() -> None:
    text = '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0"><file><unit><segment><source>Hi</source>'
    text += "<target>Da</target></segment><segment><source>Yes</source></segment></unit></file></xliff>"
    assert [one.text for one in parse(text.encode(), "a.xlf").segments] == ["Yes"]
    text = '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1"><source>Do '
    text += '<mrk mtype="protected">Keep Me</mrk></source><seg-source/></trans-unit></body></file></xliff>'
    made = render(parse(text.encode(), "a.xlf"), louder).decode()
    assert made.count("Keep Me") == 2 and made.index("<seg-source") < made.index("<target")


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog in\nThe middle of the night and nobody ever sees it but\nYou.\n",
        "A title of about forty-five characters, or so\n==============================================\n",
        "2024-01-01 12:00:00 INFO Server started on port 80\n2024-01-01 12:00:01 INFO Server is listening to it\n",
        "int main(int argc, char **argv) { return call();\nreturn something_else_that_is_quite_long(argc); }\n",
        "| a long cell of a table in text | another one |\n| b and something that is longer   | c           |\n",
    ],
    ids=["poem", "underline", "log", "code", "table"],
)
def test_lines_that_are_not_prose_are_not_joined(text: str) -> None:
    parsed = parse(text.encode(), "a.txt")
    assert {one.line for one in parsed.segments} == set(range(1, text.count("\n") + 1))


def test_long_files_take_linear_time() -> None:
    rows = "".join(f"{n},Some words\r\n" for n in range(20_000))
    assert len(parse(f"id,en\r\n{rows}".encode(), "a.csv").segments) == 20_000
    for line in ("This is one sentence per line.\n", "this is a line of a text that goes on and on without an end\n"):
        assert parse((line * 20_000).encode(), "a.txt").segments
    page = "<p>Some <b>bold</b> words</p>\n" * 5_000
    assert render(parse(page.encode(), "a.html"), louder).count(b"<b>BOLD</b>") == 5_000


def test_signs_of_footnotes_do_not_hide_the_end_of_a_sentence() -> None:
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    body = f"<w:p><w:r><w:t>The house is old.</w:t></w:r>{note}<w:r><w:t> Nobody lives there.</w:t></w:r></w:p>"
    parsed = parse(docx(body), "a.docx")
    assert [one.words for one in parsed.segments] == ["The house is old.", "Nobody lives there."]
    assert len(parsed.segments[0].marks) == 1
    html = "<p>It was sold in 2023.<sup>1</sup> The new owner has 20 m<sup>2</sup>.</p>"
    page = parse(html.encode(), "a.html")
    assert [one.words for one in page.segments] == ["It was sold in 2023.", "The new owner has 20 m."]
    assert b"2023.<sup>1</sup> THE" in render(page, louder) and b"20 M<sup>2</sup>." in render(page, louder)


def test_a_name_that_does_not_fit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(docx("<w:p><w:r><w:t>Good morning!</w:t></w:r></w:p>"))
    with pytest.raises(SystemExit) as stopped:
        main(["translate", str(path), "-o", str(tmp_path / "a.pdf")])
    assert stopped.value.code == 2 and "ends in .docx" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("{n, plural, =0{No messages} one{{n} message} other{{n} messages}}",
         "{n, plural, =0{NO MESSAGES} one{{n} MESSAGE} other{{n} MESSAGES}}"),
        ("You have {n, plural, one {# file} other {# files}} here.",
         "YOU HAVE {n, plural, one {# FILE} other {# FILES}} HERE."),
        ("{who, select, female {{n, plural, one {her dog} other {her dogs}}} other {their dogs}}",
         "{who, select, female {{n, plural, one {HER DOG} other {HER DOGS}}} other {THEIR DOGS}}"),
        ("A {name} and {n, plural, broken", "A {name} and {n, plural, broken"),
    ],
)  # fmt: skip
def test_keywords_of_icu_messages_are_code(message: str, expected: str) -> None:
    def loud(segment: FileSegment) -> str:
        return re.sub(r"\{[^}]*\}?|[^{}]+", lambda one: one[0] if "{" in one[0] else one[0].upper(), segment.text)

    parsed = parse(json.dumps({"a": message}).encode(), "app_en.arb")
    assert json.loads(render(parsed, loud)) == {"a": expected}


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"<p>Dear <%= a > b %>, <b>two</b> of them.</p>", "a.html", "<p>DEAR <%= a > b %>, <b>TWO</b> OF THEM.</p>"),
        (b"<p>Dear <? x ?> you.</p>\n<p>a < b", "a.html", "<p>DEAR <? x ?> YOU.</p>\n<p>A &lt; B"),
        (b'<p><img alt="Of <%= a %>"> Dear.</p>', "a.html", '<p><img alt="Of <%= a %>"> DEAR.</p>'),
        (b"<p>Hello <![ world.</p>", "a.html", "<p>HELLO &lt;![ world.</p>"),
    ],
)
def test_code_in_html_is_kept(data: bytes, name: str, expected: str) -> None:
    assert render(parse(data, name), louder).decode() == expected


def _begun(begin: str, segment: FileSegment) -> str:
    return segment.text.replace("To begin", begin)


def test_a_heading_may_stand_right_above_a_paragraph() -> None:
    text = "NAME\n    Mrs Becker opened the door of her small shop at nine\n"
    text += "    o'clock, as she did every morning. A young man was\n"
    text += "    already waiting outside.\n"
    parsed = parse(text.encode(), "a.txt")
    assert [one.text[:20] for one in parsed.segments] == ["NAME", "Mrs Becker opened th", "A young man was alre"]
    assert render(parsed, lambda one: one.text).decode() == text


def test_spaces_before_a_pair_part_sentences() -> None:
    body = "<w:r><w:rPr><w:b/></w:rPr><w:t>Do not open this door now.</w:t></w:r>"
    body += "<w:r><w:t xml:space='preserve'> See it.</w:t></w:r>"
    (first, second) = parse(docx(f"<w:p>{body}</w:p>"), "a.docx").segments
    assert (first.words, len(first.marks)) == ("Do not open this door now.", 0)
    assert second.words == "See it." and [mark.opens for mark in second.marks] == [True, False]


def test_lines_break_outside_of_what_is_protected() -> None:
    code = "`git commit --amend --no-edit`"
    text = (
        f"To begin you should of course type {code} in the terminal of your machine, as everybody does, and call us."
    )
    parsed = parse((textwrap.fill(text, 70) + "\n").encode(), "a.txt")
    assert len(parsed.segments) == 1, "one paragraph"
    for count in range(1, 30):  # wherever the code falls, it stays on one line
        begin = "Um " + "so " * count + "zu"
        made = render(parsed, partial(_begun, begin)).decode()
        assert code in made and made.count("\n") > 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-o", "same.html", "--bilingual", "same.html"], "same file"),
        (["-o", "x.docx"], "does not match its suffix"),
        (["-o", "x.jsonl"], "expected: a name that ends in .txt"),
    ],
)
def test_outputs_that_cannot_be_meant(
    options: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("Hello.\n")
    with pytest.raises(SystemExit) as stopped:
        main(["translate", "a.txt", *options])
    assert stopped.value.code == 2 and told in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["a.txt"]


def test_gettext_ends_lines_only_with_line_feeds() -> None:
    parsed = parse('msgid "One\u2028two"\nmsgstr ""\n'.encode(), "a.po")
    assert len(parsed.segments) == 1 and 'msgstr "ONE' in render(parsed, louder).decode()
    with pytest.raises(InputError, match="not closed"):
        parse(b'msgid "Hello\nmsgstr ""\n', "a.po")


@pytest.mark.parametrize(
    ("name", "advice"), [("a.toml", "--format text"), ("a.doc", "save it as .docx"), ("a.PDF", "convert it")]
)
def test_other_formats_are_refused_with_advice(name: str, advice: str) -> None:
    with pytest.raises(InputError, match="files are not supported") as error:
        document_format(None, Path(name))
    assert advice in str(error.value) and ".docx" in str(error.value)
    assert document_format("text", Path(name)).about


def test_arguments_of_catalogues_are_not_money() -> None:
    parsed = parse(b'{"a": "Error: $1 in $2", "b": "It is $50 or $5.00.", "c": "$1"}', "a.json")
    assert [one.words for one in parsed.segments] == ["Error:  in", "It is $50 or $5.00."]
    made = json.loads(render(parsed, lambda one: one.text.replace("Error", "Fehler").replace("It is", "Es sind")))
    assert made == {"a": "Fehler: $1 in $2", "b": "Es sind $50 or $5.00.", "c": "$1"}


def test_choices_that_cannot_be_followed_are_left_alone_and_counted() -> None:
    texts = {
        "a": "{count, plural, one {{{count}} file} other {{{count}} files}}",
        "b": "{n, plural, one {a file}",
        "c": "{n, plural, one file}",
    }
    parsed = parse(json.dumps(texts).encode(), "a.json")
    made = json.loads(render(parsed, lambda one: one.text.upper().replace("{{COUNT}}", "{{count}}")))
    assert made["a"] == "{count, plural, one {{{count}} FILE} other {{{count}} FILES}}"
    assert made["b"] == texts["b"] and made["c"] == texts["c"]
    assert parsed.remarks() == ["2 messages left unchanged, since plurals or choices could not be parsed"]


def test_raised_letters_of_ordinals_are_read() -> None:
    page = b"<p>On June 5<sup>th</sup>, 2024, m<sup>2</sup>.</p>"
    parsed = parse(page, "a.html")
    assert [one.words for one in parsed.segments] == ["On June 5th, 2024, m."]
    assert render(parsed, lambda one: one.text) == page
    assert render(parsed, lambda one: one.text.replace("5th", "5.")) == b"<p>On June 5., 2024, m<sup>2</sup>.</p>"
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>{}</w:t></w:r>'
    body = f"<w:p><w:r><w:t>The 1</w:t></w:r>{raised.format('st')}<w:r><w:t> m</w:t></w:r>{raised.format('2')}</w:p>"
    parsed = parse(docx(body), "a.docx")
    assert [one.words for one in parsed.segments] == ["The 1st m"]
    assert words(render(parsed, louder)) == "THE 1ST M2"
    runs = ((0, "The 1"), (30000, "st"), (0, " m"), (30000, "2"))
    data = "".join(f'<a:r><a:rPr baseline="{baseline}"/><a:t>{text}</a:t></a:r>' for baseline, text in runs)
    assert [one.words for one in parse(pptx(f"<a:p>{data}</a:p>"), "a.pptx").segments] == ["The 1st m"]
    style = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    styles = (
        f'<style:style {style} style:name="T1"><style:text-properties style:text-position="super 58%"/></style:style>'
    )
    body = '<text:p>The 1<text:span text:style-name="T1">st</text:span> floor.</text:p>'
    parsed = parse(odt(styles + body), "a.odt")
    assert [one.words for one in parsed.segments] == ["The 1st floor."]
    assert words(render(parsed, louder)) == "THE 1ST FLOOR."


def test_numbers_of_headings_are_no_figures() -> None:
    body = "<w:p><w:r><w:t>{}</w:t></w:r><w:r><w:tab/></w:r><w:r><w:t>{}</w:t></w:r></w:p>"
    body = body.format("2.10", "Release notes") + body.format("2.5", "kg")
    assert [one.text for one in parse(docx(body), "a.docx").segments] == ["Release notes", "2.5", "kg"]
    assert [one.text for one in parse(b"2.10\tRelease notes\n2.5\tkg\n", "a.txt").segments] == [
        "Release notes", "2.5", "kg",
    ]  # fmt: skip
    assert render(parse(b"2.10\tRelease notes\t12\n", "a.txt"), louder) == b"2.10\tRELEASE NOTES\t12\n"


def test_statements_of_templates_are_between_texts() -> None:
    page = (
        b"<p>{% if user %}Hello <b>{{ user.name }}</b>{% else %}Please log in{% endif %}</p><p title='{% x %}a'>b</p>"
    )
    parsed = parse(page, "a.html")
    assert [one.words for one in parsed.segments] == ["Hello {{ user.name }}", "Please log in", "b"]
    assert render(parsed, lambda one: one.text) == page
    made = render(parsed, lambda one: one.text.replace("Please log in", "Bitte anmelden"))
    assert made == page.replace(b"Please log in", b"Bitte anmelden")


def test_what_screen_readers_and_previews_say_is_translated() -> None:
    page = (
        b'<meta property="og:title" content="One"><meta name="viewport" content="width"><a aria-label="Two" href="x">'
        b'</a><select><optgroup label="Three"><option label="Four">Five</option></optgroup></select>'
    )
    assert [one.text for one in parse(page, "a.html").segments] == ["One", "Two", "Three", "Four", "Five"]


def test_segments_of_xliff_that_are_translated_stay() -> None:
    """One of two segments is there; and segments may be inside inline elements."""
    target = '<target><mrk mtype="seg" mid="1">Eins.</mrk></target>'
    made = render(parse(SEGMENTED.replace("TARGET", target).encode(), "a.xlf"), louder).decode()
    assert re.findall(r'mid="(\d)"[^>]*>([^<]*)<', made.split("<target")[1]) == [("1", "Eins."), ("2", "GO.")]
    nested = SEGMENTED.replace("<seg-source>", '<seg-source><g id="9">').replace("</seg-source>", "</g></seg-source>")
    made = render(parse(nested.replace("TARGET", "").encode(), "a.xlf"), louder).decode()
    assert '<g id="9">' in made.split("<target")[1] and made.count("GO.") == 1


def test_a_catalogue_that_is_a_path_is_not_opened(tmp_path: Path) -> None:
    other = tmp_path / "other.po"
    other.write_text('msgid "Secret"\nmsgstr ""\n', encoding="utf-8")
    with pytest.raises(InputError, match="not a gettext catalogue") as error:
        parse(str(other).encode(), "a.po")
    assert "Secret" not in str(error.value) and str(tmp_path) not in str(error.value).split("(")[0]


def test_the_target_column_may_be_the_one_to_translate() -> None:
    made = render(parse(b"en,de\nx,A lamp\n", "a.csv", columns=("de",)), louder)
    assert made == b"en,de\nx,A LAMP\n"


def test_positions_of_text_may_be_empty() -> None:
    style = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    styles = f'<style:style {style} style:name="T1"><style:text-properties style:text-position=""/></style:style>'
    assert words(render(parse(odt(f"{styles}<text:p>A lamp</text:p>"), "a.odt"), louder)) == "A LAMP"


def test_lists_in_lists_are_read_to_the_bottom() -> None:
    text = "".join(f"{'  ' * depth}- item {depth}\n" for depth in range(30))
    assert len(parse(text.encode(), "a.md").segments) == 30


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"k": ["a b",\n' + '"a b",\n' * 20_000 + '"a b"]}'),
        ("a.html", "<p title='a b'>a b</p>\n" * 10_000),
        ("b.html", "<p>" + "<code>a " * 10_000),
        ("a.md", "a b  \n" * 5_000),
        ("b.md", "{% highlight c %}\n" * 5_000),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\na" + " " * 50_000 + "b\n"),
        ("b.srt", "1\n00:00:01,000 --> 00:00:02,000\n" + "a b " * 10_000 + "\n"),
        ("a.ass", "[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00," + "a b\\N" * 10_000 + "\n"),
    ],
    ids=lambda value: value if "." in value[:6] else "",
)
def test_time_grows_with_the_size(name: str, text: str) -> None:
    """Quadratic parsers take minutes for these."""
    began = time.process_time()
    parsed = parse(text.encode(), name)
    render(parsed, louder)
    assert time.process_time() - began < 20
