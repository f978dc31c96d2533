"""`fenster translate` and `fenster score`, as a user calls them."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import fenster
from fenster.cli import main
from fenster.data.corpora.synthetic import generate
from fenster.data.dataset import PreparedData
from fenster.decode.search import Searcher
from fenster.errors import FensterError, InputError
from fenster.io.files import TextFiles
from fenster.model.model_folder import load_model, save_model
from tests.helpers.models import make_loaded, write_model
from tests.helpers.waiting import DEADLINE

TEXT = "Hi, Anna. Are you tired?\n\nHere is the lamp.\nIt is very old. Nobody needs it.\n\n\nThe end.\n"


@pytest.fixture
def model(toy: PreparedData, tmp_path: Path) -> Path:
    return write_model(make_loaded(toy, "window"), tmp_path / "runs" / "window" / "model")


def call(*arguments: object) -> None:
    main([*map(str, arguments), "--beam", "2"] if arguments[0] == "translate" else [*map(str, arguments)])


def test_a_line_for_a_line(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    call("translate", source, "--model", model)
    shown = capsys.readouterr().out.splitlines()
    assert [bool(line) for line in shown] == [bool(line) for line in TEXT.splitlines()]
    call("translate", source, "-m", tmp_path / "runs", "--system", "window", "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().splitlines() == shown
    assert not list(tmp_path.glob(".*unfinished*"))
    assert "reached the length limit" in capsys.readouterr().err


def test_jsonl_has_every_segment(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    call("translate", source, "-m", model, "--format", "jsonl", "--nbest", "2")
    segments = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [segment["line"] for segment in segments] == [1, 1, 2, 3, 4, 4, 5, 6, 7]
    assert segments[1]["source"] == "Are you tired?" and len(segments[1]["alternatives"]) <= 1
    call("translate", source, "-m", model, "--format", "jsonl", "--one-sentence-per-line")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["source"] for line in lines] == TEXT.splitlines() and "alternatives" not in lines[0]


def test_standard_input(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for raw, lines in (("one\ntwo", 2), ("\r\nthree\r\n", 2), ("\ufeffone\x0bstill one\n", 1)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw.encode())))
        call("translate", "-m", model)
        assert len(capsys.readouterr().out.split("\n")) == lines + 1


def test_an_interrupted_translation_goes_on(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "text.txt", tmp_path / "out.txt"
    source.write_text(TEXT)
    call("translate", source, "-m", model, "--no-guards")
    whole = capsys.readouterr().out
    run, calls = Searcher.search, []

    def stopping(self: Searcher, requests: list) -> list:
        calls.append(len(requests))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(self, requests)

    monkeypatch.setattr(Searcher, "search", stopping)
    with pytest.raises(SystemExit) as told:
        call("translate", source, "-m", model, "--no-guards", "-o", out)
    assert told.value.code == 130 and not out.exists()
    before = len(calls)
    call("translate", source, "-m", model, "--no-guards", "-o", out)
    assert "resuming after 4 segments" in capsys.readouterr().err  # three sentences and a blank line
    assert len(calls) == before + 3
    assert len(out.read_text().splitlines()) == len(whole.splitlines())
    assert out.read_text() == whole


@pytest.mark.parametrize("change", ["settings", "model", "cut", "damaged"])
def test_what_an_unfinished_translation_is_good_for(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    """Other settings or weights start over; a line that a kill cut short is translated again."""
    source, out = tmp_path / "text.txt", tmp_path / "out.txt"
    source.write_text(TEXT)
    run, calls = Searcher.search, []

    def stopping(self: Searcher, requests: list) -> list:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(Searcher, "search", stopping)
        with pytest.raises(SystemExit):
            call("translate", source, "-m", model, "--no-guards", "-o", out)
    assert "the same command resumes" in capsys.readouterr().err
    journal = tmp_path / ".out.txt.unfinished.jsonl"
    more = ["--strategy", "sentence"] if change == "settings" else []
    if change == "model":
        description = json.loads((model / "model.json").read_text())
        (model / "model.json").write_text(json.dumps({**description, "system": "another"}))
    elif change == "cut":
        journal.write_bytes(journal.read_bytes()[:-20] + b"\xc3")
    elif change == "damaged":
        journal.write_text("5\n{}\n")
    call("translate", source, "-m", model, "--no-guards", "-o", out, *more)
    told = capsys.readouterr().err
    assert ("resuming after 3 segments" in told) if change == "cut" else ("starting over" in told)
    assert len(out.read_text().splitlines()) == len(TEXT.splitlines()) and not journal.exists()


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_names_tell_of_compression(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    source, out = tmp_path / "text.txt", tmp_path / f"out.txt{suffix}"
    source.write_text(TEXT)
    call("translate", source, "-m", model)
    shown = capsys.readouterr().out.splitlines()
    call("translate", source, "-m", model, "-o", out)
    assert [text for _, text in TextFiles().lines(out)] == shown


def test_two_calls_do_not_write_one_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "text.txt", tmp_path / "out.txt"
    source.write_text(TEXT)
    run = Searcher.search
    codes: list[object] = []

    def twice(self: Searcher, requests: list) -> list:
        if not codes:
            codes.append(0)
            with pytest.raises(SystemExit) as told:
                call("translate", source, "-m", model, "-o", out)
            codes.append(told.value.code)
        return run(self, requests)

    monkeypatch.setattr(Searcher, "search", twice)
    call("translate", source, "-m", model, "-o", out)
    assert codes == [0, 2] and "another process is already writing there" in capsys.readouterr().err
    assert len(out.read_text().splitlines()) == len(TEXT.splitlines())
    assert not list(tmp_path.glob(".*unfinished*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nbest", "2"], "--nbest applies only to JSONL output"),
        (["--nbest", "3", "--format", "jsonl"], "expected: 1 to 2, which is --beam"),
        (["--nbest", "0"], "--nbest is 0"),
    ],
)
def test_lists_that_cannot_be(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    with pytest.raises(SystemExit) as told:
        call("translate", source, "-m", model, *options)
    assert told.value.code == 2 and message in capsys.readouterr().err


def test_documents_do_not_see_each_other(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone, both = tmp_path / "alone.txt", tmp_path / "both.txt"
    alone.write_text("Here is the lamp.\nIt is very old.\n")
    both.write_text("Hi, Anna.\n\nHere is the lamp.\nIt is very old.\n")
    call("translate", alone, "-m", model, "--documents")
    wanted = capsys.readouterr().out.splitlines()
    call("translate", both, "-m", model, "--documents")
    assert capsys.readouterr().out.splitlines()[2:] == wanted


def test_history(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, earlier = tmp_path / "text.txt", tmp_path / "earlier.tsv"
    source.write_text("It is very old.\n")
    earlier.write_text("Here is the lamp.\tHier ist die Lampe.\n")
    call("translate", source, "-m", model, "--history", earlier)
    assert len(capsys.readouterr().out.splitlines()) == 1
    earlier.write_text("Here is the lamp.\n")
    with pytest.raises(SystemExit) as told:
        call("translate", source, "-m", model, "--history", earlier)
    assert told.value.code == 2 and "earlier.tsv:1: not a pair" in capsys.readouterr().err
    earlier.write_text("Here is the lamp.\tHier ist die Lampe.\n")
    with pytest.raises(SystemExit):
        call("translate", source, "-m", model, "--history", earlier, "--strategy", "sentence", "-o", tmp_path / "o")
    shown = capsys.readouterr().err
    assert "does not use earlier translations" in shown and "kept" not in shown
    assert not list(tmp_path.glob(".o*")), "nothing was begun, nothing is left"


def test_nothing_is_kept_of_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted before the first sentence: no journal, no promise, and no false "starting over" afterwards."""
    source, out = tmp_path / "text.txt", tmp_path / "out.txt"
    source.write_text(TEXT)

    def stopping(self: Searcher, requests: list) -> list:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Searcher, "search", stopping)
        with pytest.raises(SystemExit):
            call("translate", source, "-m", model, "-o", out)
    assert "kept" not in capsys.readouterr().err and not list(tmp_path.glob(".out*"))
    call("translate", source, "-m", model, "-o", out)
    assert "starting over" not in capsys.readouterr().err


def test_outputs_do_not_replace_inputs(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    (tmp_path / "link.txt").symlink_to(source)
    for name in ("text.txt", "link.txt"):
        with pytest.raises(SystemExit) as told:
            call("translate", source, "-m", model, "-o", tmp_path / name)
        assert told.value.code == 2 and "would overwrite an input file" in capsys.readouterr().err
    assert source.read_text() == TEXT


@pytest.mark.slow
def test_standard_output_by_name(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    call("translate", source, "-m", model)
    plain = capsys.readouterr().out
    for name in ("/dev/stdout", "/dev/fd/1"):
        call("translate", source, "-m", model, "-o", name)
        assert capsys.readouterr().out == plain


def test_odd_characters_are_told(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text("Fine.\nNot \x07 fine.\n<sep>\n")
    call("translate", source, "-m", model)
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert "2 lines have control characters or reserved symbols" in captured.err and "2, 3" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--context", "many"], "context"),
        (["--alignment", "linear"], "unknown alignment for decoding"),
        (["--beam", "0"], "beam"),
        (["--system", "lst"], "unknown system 'lst'"),
        (["--nbest", "0"], "--nbest is 0"),
        (["--device", "cuda"], "there is no GPU here"),
        (["-o", "."], "is a folder"),
    ],
)
def test_bad_settings(
    model: Path, tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    with pytest.raises(SystemExit) as told:
        main(["translate", str(source), "-m", str(model), *arguments])
    assert told.value.code == 2 and message in capsys.readouterr().err


def test_damaged_models_are_named(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    for name in ("weights.safetensors", "model.json", "tokenizer.model"):
        kept = (model / name).read_bytes()
        (model / name).write_bytes(kept[: len(kept) // 2])
        with pytest.raises(SystemExit) as told:
            call("translate", source, "-m", model)
        assert told.value.code == 2 and name in capsys.readouterr().err
        (model / name).write_bytes(kept)


def test_weights_are_checked(toy: PreparedData, tmp_path: Path) -> None:
    loaded = make_loaded(toy, "window")
    weights = {name: tensor.float() for name, tensor in loaded.model.state_dict().items()}
    folder = tmp_path / "model"
    save_model(folder, loaded.description, weights, loaded.tokenizer, "# a card", most=40_000)
    hashed = {*(path.name for path in folder.glob("weights-*")), "tokenizer.model"}
    assert load_model(folder).description.sha256.keys() == hashed
    second = sorted(folder.glob("weights-2-of-*"))[0]
    kept = second.read_bytes()
    second.write_bytes(kept[:-4] + bytes(4))
    with pytest.raises(InputError, match=rf"{second.name}: checksum mismatch"):
        load_model(folder)
    second.unlink()
    with pytest.raises(InputError, match=rf"{second.name}: cannot be loaded"):
        load_model(folder)
    weights["embedding.weight"] = weights["embedding.weight"] * torch.nan
    save_model(folder, loaded.description, weights, loaded.tokenizer, "# a card")
    with pytest.raises(InputError, match="NaN or infinite"):
        load_model(folder)


def test_another_tokenizer_is_refused(toy: PreparedData, tmp_path: Path) -> None:
    """As many pieces, but other ones: what the model says would be nonsense."""
    folder = write_model(make_loaded(toy, "window"), tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    description["sha256"]["tokenizer.model"] = "0" * 64
    (folder / "model.json").write_text(json.dumps(description))
    with pytest.raises(InputError, match=r"tokenizer\.model: not the model's"):
        load_model(folder)


@pytest.mark.parametrize("ratio", [0.0, -1.0, "NaN"])
def test_a_ratio_that_is_none_is_refused(toy: PreparedData, tmp_path: Path, ratio: float | str) -> None:
    folder = write_model(make_loaded(toy, "concat"), tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(description | {"ratio": ratio}))
    with pytest.raises(FensterError, match="ratio"):
        load_model(folder)


def test_models_that_compute_no_numbers_are_named(
    toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Finite weights that overflow: an error that says so, whatever is asked of the model."""
    loaded = make_loaded(toy, "window")
    with torch.no_grad():
        loaded.model.float().embedding.weight.mul_(1e30)
    folder = write_model(loaded, tmp_path / "model")
    source, pairs = tmp_path / "text.txt", tmp_path / "pairs.tsv"
    source.write_text(TEXT)
    pairs.write_text("d\tHi, Anna.\tHallo, Anna.\n")
    for arguments in (["translate", source, "--beam", 2], ["score", pairs]):
        with pytest.raises(SystemExit) as told:
            main([*map(str, arguments), "-m", str(folder)])
        assert told.value.code == 2 and "produced NaN" in capsys.readouterr().err


def test_scores(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fenster.data.corpora.jsonl import write_jsonl

    path = tmp_path / "pairs.jsonl"
    documents = list(generate(2, seed=4))
    write_jsonl((document.pair for document in documents), [path])
    call("score", path, "-m", model, "--tokens")
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(entries) == sum(len(document.pair) for document in documents)
    for entry in entries:
        assert entry["logprob"] == pytest.approx(sum(entry["tokens"])) and entry["length"] == len(entry["tokens"])
    call("score", path, "-m", model, "--context", "sentence")
    alone = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert alone[0]["logprob"] != entries[0]["logprob"] or alone[3]["logprob"] != entries[3]["logprob"]


def test_a_lone_carriage_return_is_named(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\rthree\n")))
    with pytest.raises(SystemExit):
        call("translate", "-m", model)
    assert "standard input:2: a carriage return" in capsys.readouterr().err


def test_from_python(model: Path) -> None:
    translator = fenster.load(model, beam=2)
    result = translator.translate(["Hi, Anna.", "", "Are you tired?"])
    assert len(result.texts) == 3 and result.texts[1] == ""
    assert [segment.text for segment in translator.stream("Hi, Anna.")] == result.texts[:1]
    with pytest.raises(fenster.FensterError, match="unknown key"):
        fenster.load(model, beams=3)
    with pytest.raises(fenster.FensterError, match="context"):
        fenster.load(model, context=-1)
    with pytest.raises(fenster.FensterError, match="unknown device 'tpu'"):
        fenster.load(model, device="tpu")
    assert fenster.sentences("Hi, Anna. Are you tired?") == ["Hi, Anna.", "Are you tired?"]


def test_a_dash_is_standard_input_and_output(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Hi, Anna.\n\nIt is old.\n")))
    call("translate", "-", "-m", model, "-o", "-")
    assert len(capsys.readouterr().out.splitlines()) == 3 and not Path("-").exists()


def test_empty_input_is_empty_output(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.txt").touch()
    call("translate", tmp_path / "empty.txt", "-m", model)
    assert capsys.readouterr().out == ""
    call("translate", tmp_path / "empty.txt", "-m", model, "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("Hallo\n".encode("utf-16"), "looks like UTF-16"),
        ("Hallo, Welt\n".encode("utf-16-le"), "looks like UTF-16"),
        (b"PK\x03\x04\x14\x00rest", "is a ZIP archive"),
        (b"%PDF-1.7\n", "is a PDF document"),
        (b"\x1f\x8b\x08\x00", "gzip file without .gz"),
    ],
)
def test_what_is_not_text_is_named(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, told: str
) -> None:
    (tmp_path / "file.txt").write_bytes(data)
    with pytest.raises(SystemExit) as ended:
        call("translate", tmp_path / "file.txt", "-m", model)
    assert ended.value.code == 2 and told in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_output_goes_to_its_file_although_a_terminal_shows_progress(model: Path, tmp_path: Path) -> None:
    """The progress bar must not capture standard output."""
    import pty

    (tmp_path / "text.txt").write_text(TEXT)
    terminal, stderr = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "fenster",
        "translate",
        str(tmp_path / "text.txt"),
        "-m",
        str(model),
        "--beam",
        "1",
    ]
    with (tmp_path / "out.txt").open("wb") as out:
        subprocess.run(command, stdout=out, stderr=stderr, check=True, timeout=DEADLINE)
    os.close(stderr)
    os.close(terminal)
    assert len((tmp_path / "out.txt").read_text().splitlines()) == len(TEXT.splitlines())


LAYOUT = (
    "# A heading\n\n  - Here is the lamp.\n1. It is very old.   Nobody\tneeds it.\n"
    "> Hi, Anna.\n    The end.  \n* * *\n\t\n"
)


def test_layout_and_line_ends_are_kept(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "text.txt", tmp_path / "out.txt"
    for end in ("\n", "\r\n"):
        source.write_bytes(LAYOUT.replace("\n", end).encode())
        call("translate", source, "-m", model, "-o", out)
        written = out.read_bytes().decode()
        assert written.count(end) == LAYOUT.count("\n") and ("\r" in written) == (end == "\r\n")
        lines = written.replace("\r\n", "\n").split("\n")
        for line, start in zip(lines, ("# ", "", "  - ", "1. ", "> ", "    ", "* * *", "\t"), strict=False):
            assert line.startswith(start)
        assert "   " in lines[3] and lines[3].count("\t") == 1 and lines[5].endswith("  ")
        assert lines[6] == "* * *" and lines[7] == "\t"


def test_jsonl_in(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.jsonl"
    records = [
        {"source": "Hi, Anna.", "document": "a", "id": "1"},
        {"source": "It is old.", "document": "b", "register": "auto"},
    ]
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    call("translate", source, "-m", model)
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for record, given in zip(shown, records, strict=True):
        assert given.items() <= record.items() and record["target"] and isinstance(record["warnings"], list)
    for bad, message in (
        ("{", "not JSON"),
        ("[]", "has no text under `source`"),
        ('{"source": "a", "register": "rude"}', "unknown register 'rude'"),
    ):
        source.write_text(bad + "\n")
        with pytest.raises(SystemExit) as told:
            call("translate", source, "-m", model)
        assert told.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())


def test_strict_tells_of_warnings(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "text.txt", tmp_path / "out.txt"
    source.write_text("* * *\n")
    call("translate", source, "-m", model, "-o", out, "--strict")
    source.write_text(TEXT)
    with pytest.raises(SystemExit) as told:
        call("translate", source, "-m", model, "-o", out, "--strict")
    assert told.value.code == 3 and len(out.read_text().splitlines()) == len(TEXT.splitlines())
    assert "to check, reached the length limit" in capsys.readouterr().err


def test_beams_that_do_not_fit_are_refused_before_memory_is_taken(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "text.txt"
    source.write_text(TEXT)
    monkeypatch.setattr("fenster.decode.search.compiled.free_memory", lambda: 1000)
    monkeypatch.setattr("fenster.decode.search.pytorch.searcher.free_memory", lambda: 1000)
    for beam, wanted in (("512", "one search with beam 512 takes about"), ("1000000000", "expected at most 512")):
        with pytest.raises(SystemExit) as told:
            main(["translate", str(source), "-m", str(model), "--beam", beam])
        assert told.value.code == 2 and wanted in " ".join(capsys.readouterr().err.split())
