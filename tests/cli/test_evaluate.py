"""The evaluation commands as a user calls them, with real (tiny, random) models where they need one."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

from fenster.cli import main
from fenster.data.dataset import PreparedData
from fenster.decode.search import Searcher, SearchRequest
from fenster.evaluate.result import Result
from tests.helpers.models import make_loaded, write_model


def call(*arguments: object) -> None:
    main([*map(str, arguments)])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "toy.jsonl"
    call(
        "data", "generate", "--documents", 6, "--seed", 4, "-o", path, "--decisions", tmp_path / "toy.decisions.jsonl"
    )
    return path


def sides(corpus: Path) -> tuple[list[str], list[str]]:
    """(source, target) segments of a corpus."""
    documents = [json.loads(line) for line in corpus.read_text().splitlines()]
    return (
        [text for document in documents for text in document["source"]],
        [text for document in documents for text in document["target"]],
    )


def lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def test_files_of_any_system(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = sides(corpus)
    hypotheses = [text.replace("Sie", "du") for text in target]
    hyp = lines(tmp_path / "h.txt", hypotheses)
    ref, src = lines(tmp_path / "r.txt", target), lines(tmp_path / "s.txt", source)
    result = tmp_path / "results" / "a.json"
    call("evaluate", "--hyp", hyp, "--ref", ref, "--src", src, "--title", "mine", "-o", result, "--samples", 50)
    shown = capsys.readouterr().out
    found = Result.read(result)
    bleu = found.score("BLEU")
    assert bleu is not None and bleu.score == pytest.approx(BLEU().corpus_score(hypotheses, [target]).score)
    assert "mine on r" in shown and f"{bleu.score:.1f}" in shown and "tagger:HanTa" in shown
    assert found.unit == "segments"  # line-aligned files without blank lines are one document
    call("evaluate", hyp, "--test", corpus, "--samples", 50, "--by-document", "-o", result)
    assert "generated-4-6" in capsys.readouterr().out
    found = Result.read(result)
    assert found.unit == "documents" and len(found.names) == 6
    formality = found.score("formality F1")
    assert formality is not None and formality.score is not None and formality.score < 100
    assert found.files == {"hypotheses": ("../h.txt",), "test": ("../toy.jsonl",)}
    assert found.version and found.test == f"{tmp_path.name}/toy"


def test_without_a_source_or_rules(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, target = sides(corpus)
    hyp = lines(tmp_path / "h.txt", target)
    call("evaluate", hyp, "--ref", hyp, "--samples", 20)
    shown = capsys.readouterr().out
    assert "left out: pronoun F1, formality F1: the source is not given" in shown
    call("evaluate", hyp, "--test", corpus, "--rules", "none", "--samples", 20)
    shown = capsys.readouterr().out
    assert "no rules for this language pair" in shown and "term consistency" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["h.txt"], "no test set given"),
        (["--test", "toy.jsonl"], "--output is required to translate"),
        (["h.txt", "--test", "toy.jsonl", "--src", "h.txt"], "--src and --docs go with --ref"),
        (["h.txt", "--ref", "h.txt", "--src", "short.txt"], "line counts differ: short.txt has 1, h.txt has 2"),
        (["h.txt", "--test", "toy.jsonl"], "h.txt: has 2 lines, but toy.jsonl has"),
        (["h.txt", "--ref", "h.txt", "--src", "h.txt", "--tagger", "spacy"], "python -m spacy download"),
        (["h.txt", "--ref", "h.txt", "--by-document"], "--by-document needs more than one document"),
        (["missing.txt", "--ref", "h.txt"], "missing.txt: no such file"),
        (["h.txt", "--hyp", "h.txt", "--ref", "h.txt"], "more than one thing to evaluate"),
        (["-m", "model", "--test", "toy.jsonl", "-o", "h.json"], "h.txt: exists and was not written by fenster"),
        (["-m", "model", "--test", "toy.jsonl", "-o", "out.txt"], "does not end in .json"),
        (["h.txt", "--ref", "h.txt", "--samples", "0"], "Must be >= 1"),
        (["h.txt", "--ref", "short.txt", "-o", "h.txt"], "would overwrite an input file"),
    ],
)
def test_bad_input_is_named(
    arguments: list[str],
    told: str,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "h.txt", ["eins", "zwei"])
    lines(tmp_path / "short.txt", ["one"])
    with pytest.raises(SystemExit) as ended:
        call("evaluate", *arguments)
    assert ended.value.code == 2
    assert told in " ".join(capsys.readouterr().err.split())


# Some documents, or all of them, side by side; or blocks, of which only whole documents are kept.
@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "batch_size"), [("sequential", 2), ("sequential", 6), ("sentence", 4)])
def test_a_model_translates_and_goes_on_where_it_was(
    strategy: str,
    batch_size: int,
    toy: PreparedData,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    asked = [
        "evaluate",
        "-m",
        model,
        "--test",
        corpus,
        "--beam",
        2,
        "--samples",
        20,
        "--batch-size",
        batch_size,
        "--no-guards",
    ]
    run, calls, broken = Searcher.search, [], [0]

    def counting(self: Searcher, requests: list[SearchRequest]) -> object:
        calls.append(len(requests))
        if len(calls) == broken[0]:
            raise KeyboardInterrupt
        return run(self, requests)

    def searches(name: str) -> int:
        """How many a call takes."""
        calls.clear()
        call(*asked, "-o", tmp_path / f"{name}.json")
        return len(calls)

    monkeypatch.setattr(Searcher, "search", counting)
    asked += ["--strategy", strategy]
    alone = searches("whole")
    whole = (tmp_path / "whole.txt").read_text()
    broken[0] = 2 * alone // 3
    with pytest.raises(SystemExit):
        searches("again")
    assert not (tmp_path / "again.txt").exists() and max(calls) == batch_size
    capsys.readouterr()
    least = alone - broken[0] + 1
    assert searches("again") == least, "only the rest is done"
    assert "resuming after" in capsys.readouterr().err
    assert (tmp_path / "again.txt").read_text() == whole
    assert searches("again") == 0 and "exists already" in " ".join(capsys.readouterr().err.split())
    edited = (tmp_path / "again.txt").read_text() + "more\n"
    (tmp_path / "again.txt").write_text(edited)
    with pytest.raises(SystemExit):
        searches("again")
    assert "was changed after a model's translation" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "again.txt").read_text() == edited, "someone's work"
    (tmp_path / "again.txt").unlink()
    (tmp_path / ".again.txt.stamp").write_text("{")
    broken[0] = 0
    assert searches("again") == alone and (tmp_path / "again.txt").read_text() == whole
    system = Result.read(tmp_path / "again.json").system
    assert (system.attention, system.window, system.strategy, system.beam) == ("window", 4, strategy, 2)


def test_contrastive_scores_by_a_model_and_from_its_file(
    toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [
        {
            "src segment": "It is very old.",
            "ref segment": f"{true} ist sehr alt.",
            "src pronoun": "it",
            "ref pronoun": true.lower(),
            "errors": [{"contrastive": f"{form} ist sehr alt."} for form in ("Er", "Sie", "Es") if form != true],
            "src context": ["Here is the lamp."],
            "ref context": ["Hier ist die Lampe."],
            "ante distance": 1,
        }
        for true in ("Er", "Sie", "Es")
    ]
    path = tmp_path / "set.json"
    path.write_text(json.dumps(items))
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    scores, result = tmp_path / "scores.txt", tmp_path / "result.json"
    call("contrapro", path, "-m", model, "--write-scores", scores, "-o", result)
    direct = Result.read(result)
    call("contrapro", path, "--scores", scores, "-o", result)
    assert Result.read(result).table == direct.table
    # Three items with the same three candidates: exactly one reference is the model's favourite.
    assert [line["right"] for line in direct.table if line["kind"] == "antecedent distance"] == [1]
    assert direct.extra["left"] == 4 and "it:sie" in capsys.readouterr().out
    call("contrapro", path, "-m", model, "--translate", "--beam", 1, "--samples", 20, "-o", result)
    translated = Result.read(tmp_path / "result.translated.json.xz")
    assert translated.segments == 3 and translated.score("pronoun F1") is not None
    assert len((tmp_path / "result.txt").read_text().splitlines()) == 3 * 2 + 2  # with context, and breaks
    before = {name: name.read_bytes() for name in (path, scores)}
    for arguments in (
        ["-m", model, "-o", path],
        ["-m", model, "--write-scores", path],
        ["--scores", scores, "-o", scores],
        ["-m", model, "-o", result, "--write-scores", tmp_path / "." / "x" / ".." / "result.json"],
        ["--scores", scores, "--scoring-alignment", "linear"],
    ):
        with pytest.raises(SystemExit) as ended:
            call("contrapro", path, *arguments)
        assert ended.value.code == 2
    assert all(name.read_bytes() == kept for name, kept in before.items())
    items[1]["ref context"] = []
    path.write_text(json.dumps(items))
    call("contrapro", path, "-m", model, "--left", 0)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        call("contrapro", path, "-m", model)
    assert "item 2 has 1 segments of 'src context' and 0 of 'ref context'" in " ".join(
        capsys.readouterr().err.split()
    )
    items[1]["ref context"] = items[0]["ref context"]
    items[0]["errors"] = []
    path.write_text(json.dumps(items))
    with pytest.raises(SystemExit):
        call("contrapro", path, "-m", model)
    assert "item 1 has no contrastive variant" in capsys.readouterr().err


@pytest.mark.slow
def test_items_with_more_and_more_context(toy: PreparedData, tmp_path: Path) -> None:
    rows = [
        {
            "document": "a",
            "src": "Are you tired?",
            "ref": "Bist du?",
            "expected": "du",
            "src context": ["Hi, Anna."] * n,
        }
        for n in range(4)
    ]
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    asked = ["items", path, "-m", model, "--beam", 1, "--given", 0, 1, "all", "--samples", 20]
    call(*asked, "-o", tmp_path / "out")
    texts = {name: (tmp_path / "out" / f"set.{name}.txt").read_text().split("\n\n") for name in ("0", "1", "all")}
    # Without context all items are the same sentence; with one sentence, all that have one.
    assert len({text.strip() for text in texts["0"]}) == 1
    assert len({text.strip() for text in texts["1"][1:]}) == 1
    assert [len(text.strip("\n").split("\n")) for text in texts["all"]] == [1, 2, 3, 4]
    assert Result.read(tmp_path / "out" / "set.all.json").variant == "all"
    (tmp_path / "mine").mkdir()
    mine = lines(tmp_path / "mine" / "set.0.txt", ["mine"])
    with pytest.raises(SystemExit):
        call(*asked, "-o", tmp_path / "mine")
    assert mine.read_text() == "mine\n"
    hyp = lines(tmp_path / "h.txt", ["Bist du?", "Sind Sie?", "", "du"])
    call("items", path, "--hyp", hyp, "--given", 0, "-o", tmp_path / "theirs", "--samples", 20)
    found = Result.read(tmp_path / "theirs" / "set.0.json").score("expected form")
    assert found is not None and found.score == 50
    with pytest.raises(SystemExit):
        call("items", path, "--hyp", hyp)


@pytest.mark.slow
def test_distance_attention_and_the_report(
    toy: PreparedData, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    for kind in ("sentence", "window"):
        model = write_model(make_loaded(toy, kind), tmp_path / kind)
        call("evaluate", "-m", model, "--test", corpus, "--beam", 1, "--samples", 20, "-o", results / f"{kind}.json")
        call("attention", "-m", model, "--test", corpus, "--tokens", 300, "-o", results / f"{kind}.attention.json")
    perfect = lines(tmp_path / "perfect.txt", sides(corpus)[1])
    decisions = tmp_path / "toy.decisions.jsonl"
    call("distance", perfect, "--test", corpus, "--decisions", decisions, "-o", results / "distance.json")
    distances = Result.read(results / "distance.json")
    assert all(line["right"] == line["total"] for line in distances.table)
    call("distance", perfect, "--test", corpus)  # by the registers of the references
    for asked in (
        ["distance", perfect, "--test", corpus, "-o", corpus],
        ["distance", perfect, "--test", corpus, "-o", perfect],
        ["distance", perfect, "--test", corpus, "--decisions", decisions, "-o", decisions],
        ["attention", "-m", tmp_path / "window", "--test", corpus, "-o", corpus],
        ["report", results, "-o", results / "window.txt"],
        ["report", results, "-o", corpus],
    ):
        kept = {path: path.read_bytes() for path in (corpus, perfect, decisions, results / "window.txt")}
        with pytest.raises(SystemExit) as ended:
            call(*asked)
        assert ended.value.code == 2 and "would overwrite an input file" in " ".join(capsys.readouterr().err.split())
        assert all(path.read_bytes() == text for path, text in kept.items())
    alone, windows = (Result.read(results / f"{kind}.attention.json") for kind in ("sentence", "window"))
    assert alone.extra["cross"] == pytest.approx(1) and alone.extra["effective_context"] is None
    assert 0 < windows.extra["cross"] < 1 and len(windows.table[0]["heads"]) > 1
    assert windows.extra["effective_context"] == 4 * (2 * 2 + 2)  # w * (2 * encoder + decoder layers)
    heat = windows.extra["heat"]
    assert heat["segment"] == 2 and heat["target"][-1] in ("<sep>", "<eos>") and 0 <= heat["first"] < heat["last"]
    assert heat["source"][heat["last"] - 1] == heat["target"][-1], "the sentence's own source, to its end"
    assert all(sum(row) == pytest.approx(1, abs=0.05) for row in heat["weights"])
    call("report", results, "-o", tmp_path / "report.html", "--examples", 1)
    page = (tmp_path / "report.html").read_text()
    seen = Page()
    seen.feed(page)
    for wanted in ("Table 1", "Table 5", "Table 6", "Difference to sentence", "Documents side by side"):
        assert any(wanted in title for title in seen.titles), wanted
    assert seen.pictures >= 4 and not seen.outside and not seen.open
    assert 'class="formal"' in page or 'class="informal"' in page
    markdown = (tmp_path / "report.md").read_text()
    assert "| sentence | 0 sent. |" in markdown
    for name in (part.split(")")[0] for part in markdown.split("](")[1:]):
        assert (tmp_path / name).is_file()
    for wrong in ([corpus], [results, "-o", tmp_path / "report.md"]):
        with pytest.raises(SystemExit):
            call("report", *wrong)
    assert "not a result" in capsys.readouterr().err


class Page(HTMLParser):
    """What a browser would make of a report: headings, pictures, links to the outside, tags left open."""

    void = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.pictures = 0
        self.outside: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.void:
            self.open.append(tag)
        for key, value in attrs:
            if key in ("src", "href"):
                self.pictures += str(value).startswith("data:image/png")
                self.outside += [str(value)] if not str(value).startswith("data:") else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("h1", "h2"):
            self.titles.append(data)


def test_killed_between_text_and_stamp_the_next_call_completes(
    toy: PreparedData, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    asked = ["evaluate", "-m", model, "--test", corpus, "--beam", 1, "--samples", 20, "-o", tmp_path / "r.json"]

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fenster.evaluate.translations.json.dump", killed)
        with pytest.raises(SystemExit):
            call(*asked)
    assert (tmp_path / "r.txt").exists() and not (tmp_path / ".r.txt.stamp").exists()
    call(*asked)
    assert Result.read(tmp_path / "r.json").score("BLEU") is not None and (tmp_path / ".r.txt.stamp").exists()
