"""Shards of documents: every row once, in order, with all of its columns; the rest is in the dead letters."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fenster.bulk.engines.here import Here
from fenster.bulk.find import find_shards
from fenster.bulk.job import ShardsSummary, translate_shards
from fenster.bulk.manifest import WORK, Entry, Manifest
from fenster.bulk.part import Part
from fenster.bulk.shards import SHARD_FORMATS, shard_format
from fenster.bulk.shards.base import ALL, even_extents
from fenster.bulk.shards.jsonl import JsonlShards
from fenster.bulk.task import Task, death
from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.translator import Translator
from fenster.errors import ConfigError, FensterError, InputError
from tests.helpers.models import make_loaded, write_model
from tests.helpers.shards import contents, documents, read_jsonl, write_jsonl, write_parquet

FAST = DecodeConfig(beam=1, length_ratio=0.5, length_extra=2, batch_size=4)


@pytest.fixture
def translator(toy: PreparedData) -> Translator:
    return Translator(make_loaded(toy, "window"), FAST)


@pytest.fixture
def model(toy: PreparedData, tmp_path: Path) -> Path:
    return write_model(make_loaded(toy, "window"), tmp_path / "model")


def translate(
    translator: Translator,
    model: Path,
    inputs: Sequence[Path],
    output: Path,
    part_size: int = 100,
    engine: Any = None,
    **options: Any,
) -> ShardsSummary:
    made_with = (model, translator.settings())
    found = find_shards([str(path) for path in inputs], str(output), FileOptions(**options), made_with)
    return translate_shards(found, str(output), engine or Here(translator), part_size)


def test_every_row_comes_out_once_with_all_of_its_columns(
    translator: Translator, model: Path, tmp_path: Path
) -> None:
    records = documents(11)
    inputs = [
        write_jsonl(tmp_path / "a.jsonl.gz", records),
        write_parquet(tmp_path / "b.parquet", records),
        write_jsonl(tmp_path / "empty.jsonl", []),
    ]
    summary = translate(translator, model, inputs, tmp_path / "out")
    assert summary.translated == ["a.jsonl.gz", "b.parquet"] and not summary.failed, "nothing says what is in `empty`"
    assert summary.figures.documents == 22 and summary.figures.dead == 0
    made = read_jsonl(tmp_path / "out" / "a.jsonl.gz")
    assert [{key: one[key] for key in ("id", "text", "url")} for one in made] == records
    expected = [translator.translate(_sentences(one["text"])).texts for one in records]
    assert [one["translation"] for one in made] == [" ".join(texts) for texts in expected]
    assert pq.read_table(tmp_path / "out" / "b.parquet").to_pylist() == made, "the same in both formats"
    assert sorted(contents(tmp_path / "out")) == ["a.jsonl.gz", "b.parquet"]
    assert sorted(path.name for path in (tmp_path / "out" / WORK).iterdir()) == ["manifest"]


def test_parts_of_any_size_make_the_same_bytes(translator: Translator, model: Path, tmp_path: Path) -> None:
    inputs = [
        write_jsonl(tmp_path / "a.jsonl.gz", documents(9)),
        write_parquet(tmp_path / "b.parquet", documents(9)),
    ]
    for size in (0, 1, 150, 10_000):
        translate(translator, model, inputs, tmp_path / str(size), size)
    whole = contents(tmp_path / "0")
    assert all(contents(tmp_path / str(size)) == whole for size in (1, 150, 10_000))


def test_lists_of_sentences_registers_and_other_types_are_kept(
    translator: Translator, model: Path, tmp_path: Path
) -> None:
    records: list[dict[str, Any]] = [
        {"segments": ["Here is the lamp.", "", "It is very old."], "day": datetime.date(2026, 11, 17), "n": [1, 2]},
        {"segments": [], "day": None, "n": []},
    ]
    path = write_parquet(tmp_path / "a.parquet", records)
    translate(translator, model, [path], tmp_path / "out")
    made = pq.read_table(tmp_path / "out" / "a.parquet")
    assert made.select(["segments", "day", "n"]).equals(pq.read_table(path))
    translation = made.column("translation").to_pylist()
    assert len(translation[0]) == 3 and translation[0][1] == "" and translation[1] == []
    assert made.schema.field("translation").type == pa.list_(pa.string())


def test_lines_and_the_end_of_a_text_are_kept(translator: Translator, model: Path, tmp_path: Path) -> None:
    texts = ["Here is the lamp.\n\n  It is very old.\n", "Here is the lamp.", "", "\n"]
    path = write_jsonl(tmp_path / "a.jsonl", [{"body": text} for text in texts])
    translate(translator, model, [path], tmp_path / "out", columns=("body",))
    made = [one["translation"] for one in read_jsonl(tmp_path / "out" / "a.jsonl")]
    assert made[0].count("\n") == 3 and made[0].splitlines()[2].startswith("  ") and made[0].endswith("\n")
    assert "\n" not in made[1] and made[2:] == ["", "\n"]


def test_faulty_documents_are_counted_and_kept_aside(translator: Translator, model: Path, tmp_path: Path) -> None:
    lines = [
        '{"id": "good", "text": "Here is the lamp."}',
        '{"id": "number", "text": 7}',
        "not json",
        "[1, 2]",
        '{"id": "half", "text": "a \\ud800 b"}',
        '{"id": "list", "segments": ["Here is the lamp.", 3]}',
        '{"id": "register", "text": "Here is the lamp.", "register": "rude"}',
        '{"id": "other column", "text": "It is very old.", "note": "\\ud800"}',
        '{"id": "control", "text": "Here is\\u0000 the lamp."}',
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines) + "\n")
    summary = translate(translator, model, [path], tmp_path / "out")
    made = [one["id"] for one in read_jsonl(tmp_path / "out" / "a.jsonl")]
    dead = read_jsonl(tmp_path / "out" / "dead-letters" / "a.jsonl.jsonl")
    assert made[0] == "good" and "other column" in made
    assert len(made) + len(dead) == len(lines) == summary.figures.documents + summary.figures.dead
    assert [one["row"] for one in dead][:6] == [1, 2, 3, 4, 5, 6]
    assert [one["id"] for one in dead][:6] == ["number", None, None, "half", "list", "register"]
    assert "no text under `text`" in dead[0]["reason"] and "not JSON" in dead[1]["reason"]
    assert dead[1]["document"] == "not json" and dead[3]["document"]["text"] == "a \ud800 b"
    assert summary.dead_letters == [str(tmp_path / "out" / "dead-letters" / "a.jsonl.jsonl")]


def test_what_is_finished_is_not_done_again(translator: Translator, model: Path, tmp_path: Path) -> None:
    inputs = [write_jsonl(tmp_path / f"{name}.jsonl", documents(4)) for name in "ab"]
    translate(translator, model, inputs, tmp_path / "out")
    again = translate(translator, model, inputs, tmp_path / "out")
    assert again.unchanged == 2 and not again.translated
    write_jsonl(inputs[0], documents(5))
    changed = translate(translator, model, inputs, tmp_path / "out")
    assert changed.unchanged == 1 and changed.translated == ["a.jsonl"]
    assert len(read_jsonl(tmp_path / "out" / "a.jsonl")) == 5
    (tmp_path / "c.jsonl").write_text(inputs[1].read_text())
    (tmp_path / "out" / "c.jsonl").write_text("a person's own")
    with pytest.raises(FensterError, match="not made by this command"):
        translate(translator, model, [tmp_path / "c.jsonl"], tmp_path / "out")


def test_relative_names_resume_and_overwrite_nothing(
    translator: Translator, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "in" / "a.jsonl", documents(3))
    relative, out = [Path("in")], Path("out")
    assert translate(translator, model, relative, out).translated == ["a.jsonl"]
    assert translate(translator, model, relative, out).unchanged == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.jsonl").write_text("a person's own")
    with pytest.raises(FensterError, match="not made by this command"):
        translate(translator, model, relative, Path("mine"))
    for inputs, output in (([Path("in/*.jsonl")], Path("in")), ([Path("in")], Path("in"))):
        with pytest.raises(FensterError, match="inside the output folder"):
            translate(translator, model, inputs, output)
    assert read_jsonl(tmp_path / "in" / "a.jsonl") == documents(3)


def test_two_files_of_one_name_do_not_overwrite_each_other(
    translator: Translator, model: Path, tmp_path: Path
) -> None:
    inputs = [write_jsonl(tmp_path / folder / "a.jsonl", documents(2)) for folder in ("one", "two")]
    translate(translator, model, inputs[:1], tmp_path / "out")
    with pytest.raises(FensterError, match=r"was made from .*one/a\.jsonl"):
        translate(translator, model, inputs[1:], tmp_path / "out")


def test_no_shard_is_written_where_dead_letters_are(translator: Translator, model: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in" / "dead-letters" / "a.jsonl", documents(2))
    with pytest.raises(ConfigError, match="is reserved for faulty documents"):
        translate(translator, model, [tmp_path / "in"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_dead_letters_of_earlier_calls_are_remembered(translator: Translator, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": 5}\n{"text": "It is very old."}\n')
    assert translate(translator, model, [path], tmp_path / "out").figures.dead == 1
    again = translate(translator, model, [path], tmp_path / "out")
    assert (again.unchanged, again.dead_before) == (1, 1)


def test_names_with_brackets_and_hidden_folders(translator: Translator, model: Path, tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "c [v2]"
    inputs = [write_jsonl(folder / name, documents(2)) for name in ("d[1].jsonl", "d1.jsonl")]
    for given, names in (
        (inputs[:1], ["d[1].jsonl"]),
        ([folder], ["d1.jsonl", "d[1].jsonl"]),
        ([tmp_path / ".cache" / "c*" / "d*.jsonl"], ["d1.jsonl", "d[1].jsonl"]),
    ):
        output = tmp_path / f"out [{len(names)}]" / str(len(str(given)))
        assert sorted(translate(translator, model, given, output).translated) == names
        assert translate(translator, model, given, output).unchanged == len(names)


def test_a_faulty_first_line_hides_no_shard(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = "[" * 100_000
    path.write_text(f'{{"id": 1}}\n[1]\n{deep}\nno json\n{{"text": "It is very old."}}\n')
    assert shard_format(str(path)) == "jsonl"
    path.write_text('{"id": 1}\n{"source": "It is very old."}\n')
    assert shard_format(str(path)) is None, "a segment per line"


def test_texts_among_lists_of_sentences(translator: Translator, model: Path, tmp_path: Path) -> None:
    both: list[dict[str, Any]] = [
        {"text": "It is very old.", "segments": None},
        {"text": None, "segments": ["Here is the lamp.", "It is very old."]},
    ]
    path = write_parquet(tmp_path / "both.parquet", both)
    numbers = write_parquet(tmp_path / "numbers.parquet", [{"text": "It is very old.", "segments": 3}])
    summary = translate(translator, model, [path, numbers], tmp_path / "out")
    assert summary.figures.documents == 3 and not summary.figures.dead
    made = pq.read_table(tmp_path / "out" / "both.parquet").column("translation").to_pylist()
    assert [len(texts) for texts in made] == [1, 2] and made[0][0] == made[1][1] == translator.translate(
        "It is very old."
    ).texts[0]
    (text,) = pq.read_table(tmp_path / "out" / "numbers.parquet").column("translation").to_pylist()
    assert text == made[0][0]


def test_a_text_that_is_not_utf_8_is_a_dead_letter(translator: Translator, model: Path, tmp_path: Path) -> None:
    texts = pa.array([b"Here is the lamp.", b"\xff\xfe", b"It is very old."]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": [1, 2, 3], "text": texts}), tmp_path / "a.parquet")
    summary = translate(translator, model, [tmp_path / "a.parquet"], tmp_path / "out")
    assert (summary.figures.documents, summary.figures.dead) == (2, 1) and not summary.failed
    assert pq.read_table(tmp_path / "out" / "a.parquet", columns=["id"]).to_pydict() == {"id": [1, 3]}


def test_a_shard_that_cannot_be_assembled_fails_alone_again_and_again(
    translator: Translator, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = (write_jsonl(tmp_path / f"{name}.jsonl", documents(2)) for name in ("bad", "good"))
    write = JsonlShards.write

    def failing(self: JsonlShards, name: str, *given: Any) -> None:
        if "bad" in name:
            raise OSError("the disk is on fire")
        write(self, name, *given)

    monkeypatch.setattr(JsonlShards, "write", failing)
    assert "on fire" in translate(translator, model, [bad], tmp_path / "out").failed["bad.jsonl"]
    again = translate(translator, model, [bad, good], tmp_path / "out")
    assert again.translated == ["good.jsonl"] and list(again.failed) == ["bad.jsonl"]
    monkeypatch.undo()
    assert translate(translator, model, [bad, good], tmp_path / "out").translated == ["bad.jsonl"]


class Dying:
    """An engine that is killed after some parts, or whose workers die over some document."""

    def __init__(self, translator: Translator, after: int = 10**9, deadly: int = -1) -> None:
        self._translator, self._after, self._deadly, self.ran = translator, after, deadly, list[str]()

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any]]:
        for task in tasks:
            assert isinstance(task, Part)
            if len(self.ran) == self._after:
                raise KeyboardInterrupt
            self.ran.append(task.name)
            first, count = task.extent.first, task.extent.count
            yield task, death(task) if first <= self._deadly < first + count else task.run(self._translator)


@pytest.mark.parametrize("after", [0, 1, 3, 4])
def test_a_killed_driver_resumes_with_what_is_missing(
    translator: Translator, model: Path, tmp_path: Path, after: int
) -> None:
    inputs = [write_jsonl(tmp_path / "a.jsonl", documents(8)), write_jsonl(tmp_path / "b.jsonl", documents(2))]
    translate(translator, model, inputs, tmp_path / "undisturbed", 250)
    dying = Dying(translator, after=after)
    with pytest.raises(KeyboardInterrupt):
        translate(translator, model, inputs, tmp_path / "out", 250, dying)
    resumed = Dying(translator)
    translate(translator, model, inputs, tmp_path / "out", 250, resumed)
    assert len(dying.ran) == after and not set(dying.ran) & set(resumed.ran), "nothing twice"
    assert contents(tmp_path / "out") == contents(tmp_path / "undisturbed")


@pytest.mark.parametrize("part_size", [0, 250])
def test_a_document_that_kills_its_workers_is_found_and_left_out(
    translator: Translator, model: Path, tmp_path: Path, part_size: int
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", documents(8))
    summary = translate(translator, model, [path], tmp_path / "out", part_size, Dying(translator, deadly=5))
    made = [one["id"] for one in read_jsonl(tmp_path / "out" / "a.jsonl")]
    assert made == [f"doc-{number}" for number in range(8) if number != 5]
    (dead,) = read_jsonl(tmp_path / "out" / "dead-letters" / "a.jsonl.jsonl")
    assert dead["row"] == 5 and "workers died" in dead["reason"]
    assert (summary.figures.documents, summary.figures.dead) == (7, 1)


def test_damaged_shards_fail_alone(translator: Translator, model: Path, tmp_path: Path) -> None:
    good = write_parquet(tmp_path / "good.parquet", documents(3))
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(write_jsonl(tmp_path / "x.jsonl.gz", documents(500)).read_bytes()[:-20])
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(good.read_bytes()[:-9])
    other = write_parquet(tmp_path / "other.parquet", [{"name": "Anna"}])
    flipped = tmp_path / "flipped.jsonl.gz"
    data = bytearray((tmp_path / "x.jsonl.gz").read_bytes())
    data[20:24] = b"\xff\xff\xff\xff"
    flipped.write_bytes(bytes(data))
    for size in (0, 100):
        inputs = [damaged, good, other, cut, flipped]
        summary = translate(translator, model, inputs, tmp_path / f"out-{size}", size)
        assert summary.translated == ["good.parquet"]
        assert sorted(summary.failed) == ["cut.jsonl.gz", "damaged.parquet", "flipped.jsonl.gz", "other.parquet"]
        assert "not a Parquet file" in summary.failed["damaged.parquet"]
        assert "has no column of documents" in summary.failed["other.parquet"]
        assert "decompressed" in summary.failed["cut.jsonl.gz"]
        assert sorted(contents(tmp_path / f"out-{size}")) == ["good.parquet"]


def test_names_follow_the_inputs(tmp_path: Path, model: Path) -> None:
    for name in ("one/a.jsonl", "one/sub/b.jsonl", "two/a.jsonl"):
        write_jsonl(tmp_path / name, documents(1))
    (tmp_path / "one" / "segments.jsonl").write_text('{"source": "Hi."}\n')
    (tmp_path / "one" / "c.txt").write_text("Hi.\n")

    def names(*inputs: str) -> list[str]:
        found = find_shards([f"{tmp_path}/{one}" for one in inputs], f"{tmp_path}/out", FileOptions(), (model, {}))
        return [shard.name for shard in found.shards]

    assert names("one") == names("one/") == ["a.jsonl", "sub/b.jsonl"]
    assert names("one", "two") == ["one/a.jsonl", "one/sub/b.jsonl", "two/a.jsonl"]
    assert names("one/*.jsonl") == ["a.jsonl"]
    with pytest.raises(ConfigError, match="would both be"):
        names("one/a.jsonl", "two/a.jsonl")
    with pytest.raises(InputError, match="no such file"):
        names("three/*.parquet")


def test_extents_cover_all_rows_once() -> None:
    for size in (1, 10, 25, 1000):
        extents = even_extents(iter([10, 5, 40, 1, 1, 1, 9]), size)
        assert [extent.first for extent in extents] == [
            sum(e.count for e in extents[:i]) for i in range(len(extents))
        ]
        assert sum(extent.count for extent in extents) == 7 and sum(extent.size for extent in extents) == 67
        assert all(extent.count == 1 or extent.size <= size for extent in extents)
    assert even_extents(iter([]), 10) == []


def test_rows_can_be_read_from_anywhere(tmp_path: Path) -> None:
    records = documents(11)
    for path in (write_jsonl(tmp_path / "a.jsonl", records), write_parquet(tmp_path / "a.parquet", records)):
        kind = shard_format(str(path))
        assert kind is not None
        reader = SHARD_FORMATS[kind]()
        for first, count in ((0, 11), (0, ALL), (3, 1), (3, 6), (10, 5), (11, 1)):
            rows = list(reader.rows(str(path), first, count))
            assert [row.number for row in rows] == list(range(11))[first : first + count]
            assert [row.record["id"] for row in rows] == [one["id"] for one in records[first : first + count]]  # type: ignore[union-attr]


def test_the_manifest_is_kept_in_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fenster.bulk.manifest._SECONDS", 0.0)
    folder = tmp_path / WORK / "manifest"
    manifest = Manifest(str(tmp_path))
    for number in range(3):
        manifest.add(f"{number}.jsonl", Entry(f"stamp {number}", documents=number))
    assert len(list(folder.iterdir())) == 3
    with Manifest(str(tmp_path)) as again:
        assert again.entries == manifest.entries
        again.add("1.jsonl", Entry("new"))
    (segment,) = folder.iterdir()
    assert Manifest(str(tmp_path)).entries["1.jsonl"] == Entry("new") and len(segment.read_text().splitlines()) == 3
    segment.write_text(segment.read_text() + "{}\n")
    with pytest.raises(InputError, match="not an entry of a manifest"):
        Manifest(str(tmp_path))


@pytest.mark.slow
def test_two_workers_write_what_one_process_writes(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several workers share one large shard; other files of the folder are translated as files."""
    write_parquet(tmp_path / "in" / "a.parquet", documents(12))
    write_jsonl(tmp_path / "in" / "b.jsonl.gz", documents(5))
    (tmp_path / "in" / "c.txt").write_text("Here is the lamp.\n")
    (tmp_path / "in" / "d.jsonl").write_text('{"text": 5}\n{"text": "It is very old."}\n')
    command = ["translate", str(tmp_path / "in"), "-m", str(model), "--beam", "2", "--threads", "1"]
    command += ["--device", "cpu", "--part-size", "300"]
    main([*command, "-o", str(tmp_path / "one")])
    main([*command, "-o", str(tmp_path / "two"), "--workers", "2"])
    printed = capsys.readouterr()
    assert printed.out.count("3 shards translated") == 2 and printed.out.count("1 file translated") == 2
    assert printed.out.count("18 documents") == 2 and "1 document could not be translated" in printed.err
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    main([*command, "-o", str(tmp_path / "two"), "--workers", "2"])
    assert "3 unchanged" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main([*command, "-o", str(tmp_path / "three"), "--strict"])
    assert stopped.value.code == 3


def _sentences(text: str) -> list[str]:
    return [sentence + "." for sentence in text.removesuffix(".").split(". ")]
