import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fenster.cli import COMMANDS, app, main
from fenster.data.corpora import read_corpus
from fenster.data.dataset import PreparedData
from fenster.data.prepare.config import PrepareConfig
from fenster.decode.config import DecodeConfig


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    return " ".join(capsys.readouterr().err.split())


WITH_EXAMPLES = [
    ["import"],
    ["prepare"],
    ["data", "stats"],
    ["data", "generate"],
    ["data", "verify"],
    ["data", "show"],
    ["data", "formats"],
    ["bench", "prepare"],
    ["bench", "attention"],
    ["bench", "memory"],
]


@pytest.mark.parametrize("command", WITH_EXAMPLES, ids=" ".join)
def test_help_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(run(capsys, *command, "--help").split())
    assert f"fenster {' '.join(command)}" in text
    if command != ["data", "formats"]:
        assert "Example" in text


def test_generate_import_stats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy, choices = tmp_path / "toy.jsonl.xz", tmp_path / "choices.jsonl"
    out = run(capsys, "data", "generate", "--documents", 30, "-o", toy, "--decisions", choices)
    assert "30 documents" in out
    assert "without context" in out
    assert set(json.loads(choices.read_text().splitlines()[0])) == {
        "document", "segment", "kind", "expected", "options", "distance",
    }  # fmt: skip

    assert "30 documents" in run(capsys, "import", toy, "-o", tmp_path / "toy.tsv.gz")
    files = [tmp_path / name for name in ("t.en", "t.de", "t.docs")]
    run(capsys, "import", tmp_path / "toy.tsv.gz", "--to", "plain", "-o", *files)
    assert all(a.same_text(b) for a, b in zip(read_corpus([toy]), read_corpus(files), strict=True))

    numbers = json.loads(run(capsys, "data", "stats", *files, "--json"))
    sentences = sum(len(document) for document in read_corpus([toy]))
    assert (numbers["documents"], numbers["sentences"]) == (30, sentences)
    assert numbers["source"]["total"] == sum(len(t.split()) for d in read_corpus([toy]) for t in d.source.texts)
    table = run(capsys, "data", "stats", toy)
    assert "source/target ratio" in table
    assert "█" in table


def test_prepare_shows_what_came_out(
    tmp_path: Path, toy_config: PrepareConfig, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(json.dumps(toy_config.model_dump(mode="json")))
    out = run(capsys, "prepare", tmp_path / "c.yaml", "-o", tmp_path / "p", "--set", "tokenizer.vocab_size=460")
    assert "vocabulary 460" in out
    assert "train_ratio" in out
    assert "up to date" in run(
        capsys, "prepare", tmp_path / "c.yaml", "-o", tmp_path / "p", "--set", "tokenizer.vocab_size=460"
    )
    assert "match the manifest" in run(capsys, "data", "verify", tmp_path / "p")
    tokenizer = tmp_path / "p" / "tokenizer.model"
    pieces = json.loads(
        run(capsys, "data", "stats", toy_config.splits["valid"][0].paths[0], "--tokenizer", tokenizer, "--json")
    )
    assert pieces["target"]["total"] == PreparedData(tmp_path / "p").manifest.splits["valid"].target_tokens


@pytest.mark.parametrize("context", ["sentence", "adjacent", "document"])
def test_show_prints_an_example_and_the_batches(
    toy: PreparedData, context: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(capsys, "data", "show", toy.folder, "--context", context, "--tokens", 2000)
    assert "padding would waste" in out
    assert ("<bod> <sep>" in out) == (context == "adjacent")
    assert "<eos>" in out or "more sentences" in out
    assert "no example 99999" in fails(capsys, "data", "show", toy.folder, "--example", 99999)


def test_bad_text_may_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tsv").write_text("d\ta <sep> b\tx\n")
    assert "<sep>" in fails(capsys, "import", tmp_path / "a.tsv", "-o", tmp_path / "b.jsonl")
    out = run(capsys, "import", tmp_path / "a.tsv", "-o", tmp_path / "b.jsonl", "--bad-text", "keep")
    (tmp_path / "link.tsv").symlink_to(tmp_path / "a.tsv")
    for name in ("a.tsv", "link.tsv"):
        assert "would overwrite an input file" in fails(capsys, "import", tmp_path / "a.tsv", "-o", tmp_path / name)
    assert "1 pairs with control characters or reserved symbols were kept" in out


def test_errors_end_with_2_and_without_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such config file" in fails(capsys, "prepare", tmp_path / "none.yaml")
    assert "no manifest" in fails(capsys, "data", "verify", tmp_path)
    (tmp_path / "file").write_text("")
    assert "no manifest" in fails(capsys, "data", "verify", tmp_path / "file")
    assert "cannot be read" in fails(capsys, "prepare", tmp_path)
    (tmp_path / "a.tsv").write_text("d\ta\tx\n")
    assert "its vocabulary is empty" in fails(capsys, "data", "stats", tmp_path / "a.tsv", "--tokenizer", "/dev/null")
    (tmp_path / "manifest.json").write_text("[]")
    assert "damaged manifest" in fails(capsys, "data", "verify", tmp_path)
    assert "out of range" in fails(capsys, "data", "generate", "-o", tmp_path / "x.jsonl", "--distance", 3, 1)
    fails(capsys, "no-such-command")
    fails(capsys, "prepare")
    fails(capsys, "data", "stats", tmp_path / "a.tsv", "--no-such-option")


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 128.00 MiB."), MemoryError()], ids=repr
)
def test_a_full_memory_is_an_error_without_traceback(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fenster.cli._overview", full)
    said = fails(capsys)
    assert "out of memory" in said
    assert "fix:" in said
    assert "Traceback" not in said


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fenster", "data", "verify", str(tmp_path)]
    plain = subprocess.run(command, capture_output=True, text=True)
    debug = subprocess.run([*command, "--debug"], capture_output=True, text=True)
    assert (plain.returncode, "Traceback" in plain.stderr) == (2, False)
    assert "Traceback" in debug.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_standard_output_is_an_error_without_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-u", "-m", "fenster", "data", "formats"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_app_lists_its_commands() -> None:
    assert {"import", "data", "prepare", "bench"} <= set(app)


def test_the_summary_of_a_command_is_the_first_sentence_of_its_help() -> None:
    for name, (_, summary) in COMMANDS.items():
        assert app[name].help.split("\n\n")[0].replace("\n", " ") == summary


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["data", "formats"], 0),
        (["translate", "missing.txt"], 2),
        (["translate", "-m", "missing"], 2),
        (["translate", "missing.txt", "--beam", "0"], 2),
        (["translate", "missing.txt", "--bilingual", "x.pdf"], 2),
    ],
    ids=str,
)
def test_plain_commands_and_mistakes_do_not_wait_for_torch(arguments: list[str], code: int) -> None:
    program = f"""
import sys
from fenster.cli import main
try:
    main({arguments!r})
except SystemExit as ended:
    assert ended.code == {code}
assert "torch" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_translation_on_a_cpu_does_not_wait_for_the_compiler() -> None:
    """A second of imports that only training needs."""
    program = (
        "import sys; import fenster; import fenster.decode.files.translate; assert 'torch._dynamo' not in sys.modules"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_bench_attention_prints_growth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "a.png"
    ways = ("--lengths", 64, 128, "--heads", 1, "--size", 8, "--ways", "block", "dense", "--plot", picture)
    out = run(capsys, "bench", "attention", *ways)
    assert "growth: time" in out
    assert "MiB" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "no computation is called 'flash'" in fails(capsys, "bench", "attention", "--ways", "flash")


@pytest.mark.slow
def test_bench_prepare_measures_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy = tmp_path / "toy.tsv"
    run(capsys, "data", "generate", "--documents", 800, "-o", toy)
    out = run(capsys, "bench", "prepare", toy, "--sizes", 2000, "--repeats", 1, "--vocab-size", 600, "--threads", 2)
    assert "MiB" in out
    assert "%" in out


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU here")
def test_gpu_benchmarks_say_that_they_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no GPU here" in fails(capsys, "bench", "memory")
    assert "there is no GPU here" in fails(capsys, "bench", "attention", "--device", "cuda")
    assert "no system is called 'x'" in fails(capsys, "bench", "memory", "--systems", "x")


def test_signal_handlers_are_restored(capsys: pytest.CaptureFixture[str]) -> None:
    """A program that calls `main` can still be terminated afterwards."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers], sys.stdout.errors, sys.stderr.errors
    main(["data", "formats"])
    with pytest.raises(SystemExit):
        main(["data", "stats", "/does/not/exist.tsv"])
    assert ([signal.getsignal(number) for number in numbers], sys.stdout.errors, sys.stderr.errors) == before


def test_options_of_decoding_are_those_of_its_config(capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting is an option, so also the length penalty and the limits."""
    main(["translate", "--help"])
    shown = capsys.readouterr().out
    for name in DecodeConfig.model_fields:
        assert f"--{name.replace('_', '-')}" in shown
    for option, value, told in (
        ("--beam", "0", "beam: expected at least 1"),
        ("--context", "bla", "context"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["translate", "x.txt", option, value])
        errors = capsys.readouterr().err
        assert ended.value.code == 2 and told in errors and "pydantic" not in errors


def test_built_in_configs_are_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["configs"])
    shown = capsys.readouterr().out
    assert "europarl/window" in shown and "dialogue" in shown
    main(["configs", "train/europarl/window"])
    printed = capsys.readouterr().out
    assert "kind: window" in printed
    main(["configs", "europarl/window"])
    assert capsys.readouterr().out == printed, "by its bare name, if only one command has it"
    with pytest.raises(SystemExit):
        main(["train", "none"])
    assert "europarl/window" in capsys.readouterr().err


def test_a_name_that_two_commands_know_is_ambiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("prepare", "train"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "mine.yaml").write_text(f"# {kind}\n")
    monkeypatch.setattr("fenster.configs._FOLDER", tmp_path)
    said = fails(capsys, "configs", "mine")
    assert "two configurations are called 'mine'" in said and "prepare/mine, train/mine" in said
    main(["configs", "train/mine"])
    assert capsys.readouterr().out == "# train\n"


def test_a_service_that_cannot_start_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fastapi", reason="an extra: pip install 'fenster[serve]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = fails(capsys, "serve", "--port", port, "-m", tmp_path)
    assert f"cannot listen on 127.0.0.1, port {port}" in said and "choose another --port" in said
    assert "cannot listen on no.such.host.invalid" in fails(capsys, "serve", "--host", "no.such.host.invalid")
    assert "deadline" in fails(capsys, "serve", "--deadline", "inf")


def test_the_data_root_is_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, environment, folder in (
        ([], None, "data/raw"),
        ([], "elsewhere", "elsewhere"),
        (["--data-root", "given"], "elsewhere", "given"),
    ):
        with monkeypatch.context() as patch:
            patch.delenv("FENSTER_DATA", raising=False)
            if environment:
                patch.setenv("FENSTER_DATA", environment)
            with pytest.raises(SystemExit):
                main(["prepare", "europarl", *arguments])
        told = capsys.readouterr().err
        assert f"{folder}/europarl/en-de.train-300k.tsv.xz: no such file" in told and "FENSTER_DATA" in told


@pytest.mark.parametrize(
    "tokens", [["translate", "--bem", "4", "x.txt"], ["translate", "x.txt", "--bem=4"], ["evaluate", "--bem", "4"]]
)
def test_misspelt_options_are_named(tokens: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as told:
        main(tokens)
    assert told.value.code == 2 and "Unknown option: --bem. Did you mean --beam?" in capsys.readouterr().err
