"""Translation memories as corpora: TMX, XLIFF and bilingual CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from fenster.data.corpora import read_corpus
from fenster.errors import InputError

TMX = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/><body>
<tu><tuv xml:lang="de-DE"><seg>Der <bpt i="1">&lt;b&gt;</bpt>Hund<ept i="1">x</ept>.</seg></tuv>
<tuv xml:lang="en-US"><seg>The <hi>dog</hi>.</seg></tuv></tu>
<tu><prop type="x-document">b</prop><tuv lang="EN"><seg>A cat.</seg></tuv>
<tuv lang="DE"><seg>Eine Katze.</seg></tuv></tu>
</body></tmx>
"""


def pairs(path: Path) -> dict[str, list[tuple[str, str]]]:
    return {one.id: list(zip(one.source.texts, one.target.texts, strict=True)) for one in read_corpus([path])}


def test_tmx(tmp_path: Path) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(TMX)
    assert pairs(path) == {"m": [("The dog.", "Der Hund.")], "b": [("A cat.", "Eine Katze.")]}


def test_xliff() -> None:
    files = Path(__file__).resolve().parents[2] / "files" / "good"
    found = pairs(files / "hand_v12.xlf")
    assert found["ferry.html"][0] == (
        "The price does not include breakfast.",
        "Im Preis ist kein Frühstück enthalten.",
    )
    assert len(found["ferry.html"]) == 3, "units without a translation are left out"
    assert len(pairs(files / "hand_v20.xlf")) == 1


@pytest.mark.parametrize(
    "text",
    ['id,en,de\r\n1,One,Eins\r\n2,"Two, too",Zwei\r\n', "source;target\nOne;Eins\n\nTwo, too;Zwei\n"],
)
def test_csv(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text)
    assert pairs(path) == {"m": [("One", "Eins"), ("Two, too", "Zwei")]}


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("a.tmx", "<tmx><tu><tuv xml:lang='en'><seg>One</seg></tuv></tu></tmx>", "both languages"),
        ("a.tmx", "<tmx><tu>", "not well-formed"),
        ("a.tmx", "<!DOCTYPE t [<!ENTITY x 'y'>]><tmx/>", "declares an entity"),
        ("a.csv", "a,b\n1,2\n", "cannot tell source and target"),
        ("a.csv", "en,de\n1\n", "1 cell"),
        ("a.xlf", "<xliff/>", "no document"),
    ],
)
def test_what_is_wrong_is_said(name: str, text: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=wanted):
        list(read_corpus([tmp_path / name]))
