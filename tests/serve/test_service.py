"""The service over real HTTP: LibreTranslate's own client library, and everything that may go wrong."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from html import escape
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.errors import FensterError
from fenster.model.model_folder import LoadedModel
from fenster.serve.access import hashed, new_key
from tests.helpers.models import write_model
from tests.helpers.waiting import wait_until
from tests.serve.conftest import Start

FILES = Path(__file__).parents[1] / "files" / "good"
PAIR = {"source": "en", "target": "de"}


def test_the_client_library_works_unchanged(start: Start, translator: Translator) -> None:
    client = LibreTranslateAPI(start())
    (expected,) = translator.translate(["Here is the lamp."]).texts
    assert client.translate("Here is the lamp.", "en", "de") == expected
    assert client.languages()[0] == {"code": "en", "name": "English", "targets": ["en", "de"]}
    assert client.detect("Guten Tag, wie geht es Ihnen heute?")[0]["language"] == "de"


def test_json_forms_lists_and_html(start: Start, translator: Translator) -> None:
    url = start()
    together = translator.translate(["Here is the lamp.", "It is very old."]).texts
    answer = httpx.post(f"{url}/translate", json={"q": ["Here is the lamp.", "It is very old."], **PAIR}).json()
    assert answer == {"translatedText": together}, "a list is one document"
    form = httpx.post(f"{url}/translate", data={"q": "Here is the lamp.\n\n  It is very old.\n", **PAIR}).json()
    assert form["translatedText"] == f"{together[0]}\n\n  {together[1]}\n", "the layout is kept"
    html = httpx.post(
        f"{url}/translate", json={"q": "<p>Here <b>is</b> the <code>x</code> lamp.</p>", "format": "html", **PAIR}
    ).json()["translatedText"]
    assert html.startswith("<p>") and html.count("<b>") == html.count("</b>") == 1 and "<code>x</code>" in html
    more = httpx.post(f"{url}/translate", json={"q": "Here is the lamp.", "alternatives": 1, **PAIR}).json()
    assert len(more["alternatives"]) <= 1 and isinstance(more["alternatives"], list)
    german = {"q": "Das ist schon ein deutscher Satz.", "source": "auto", "target": "de"}
    answer = httpx.post(f"{url}/translate", json=german).json()
    assert answer["translatedText"] == german["q"] and answer["detectedLanguage"]["language"] == "de"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"source": "en", "target": "de"}, 400, "missing q parameter"),
        ({"q": 7, "source": "en", "target": "de"}, 400, "missing q parameter"),
        ({"q": "Hi.", "target": "de"}, 400, "missing source parameter"),
        ({"q": "Hi.", "source": "en"}, 400, "missing target parameter"),
        ({"q": "Hi.", "source": "en", "target": "xx"}, 400, "xx is not supported"),
        ({"q": "Hi.", "source": "de", "target": "en"}, 400, "de to en is not supported"),
        ({"q": "Hi.", "format": "pdf", **PAIR}, 400, "pdf format is not supported"),
        ({"q": "Hi.", "alternatives": "x", **PAIR}, 400, "alternatives"),
        ({"q": "Hi.", "register": "polite", **PAIR}, 400, "register"),
        ({"q": "x" * 2000, **PAIR}, 413, "exceeds text limit"),
        ({"q": "a \ud800 b", **PAIR}, 400, "surrogate"),
        ({"q": "Hi.", "source": "\ud800", "target": "de"}, 400, "is not supported"),
        ({"q": "Hi.", "format": "\ud800", **PAIR}, 400, "format is not supported"),
        ({"q": ["Hi."] * 600, **PAIR}, 413, "exceeds text limit"),
        ({"q": [""] * 2000, **PAIR}, 413, "exceeds text limit"),
        ({"q": "Hi.", "alternatives": 1e999, **PAIR}, 400, "alternatives"),
        ("[" * 100_000, 400, "not JSON"),
        ("{", 400, "not JSON"),
        ("[]", 400, "must be a JSON object"),
    ],
)
def test_errors_are_libretranslates(start: Start, body: object, status: int, message: str) -> None:
    url = start(most_characters=1000)
    content = body if isinstance(body, str) else json.dumps(body)
    answer = httpx.post(f"{url}/translate", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status and list(answer.json()) == ["error"] and message in answer.json()["error"]
    assert httpx.get(f"{url}/health").json() == {"status": "ok"}
    assert httpx.head(f"{url}/health").status_code == 200


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"segments": "x"}', "segments: expected a list (got 'x')"),
        ('{"segments": ["x"], "glossary": {"lamp": 3}}', "glossary.lamp: expected text"),
        ("[1]", "Invalid request: expected a JSON object (got [1])"),
        ("{bad", "Invalid request: not JSON"),
    ],
)
def test_errors_of_requests_are_in_our_words(start: Start, body: str, message: str) -> None:
    answer = httpx.post(f"{start()}/v1/documents", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and message in answer.json()["error"]


def test_files_go_in_and_out(start: Start) -> None:
    url = start()
    for path in (FILES / "film.srt", FILES / "lo_report.docx"):
        files = {"file": (f"../../etc/{path.name}", path.read_bytes())}
        answer = httpx.post(f"{url}/translate_file", files=files, data=PAIR, timeout=60)
        assert answer.status_code == 200, answer.text
        address = answer.json()["translatedFileUrl"]
        assert address.startswith(url) and "etc" not in address
        fetched = httpx.get(address)
        assert fetched.content[:2] == path.read_bytes()[:2]
        assert f"{path.stem}_de{path.suffix}" in fetched.headers["content-disposition"]
    assert httpx.get(f"{url}/v1/files/{'0' * 32}/result").status_code == 404
    assert httpx.get(f"{url}/v1/files/..%2f..%2fetc%2fpasswd/result").status_code == 404
    bad = httpx.post(f"{url}/translate_file", files={"file": ("x.docx", b"PK no archive")}, data=PAIR)
    assert bad.status_code == 400 and "error" in bad.json()
    assert "/" not in bad.json()["error"].split(":")[0], "no path of this machine"
    same = httpx.post(f"{url}/translate_file", files={"file": ("a.txt", b"Hi.")}, data=PAIR | {"target": "en"})
    assert same.status_code == 400, "nothing to translate"
    other = httpx.post(f"{url}/translate_file", files={"file": ("x.exe", b"MZ")}, data=PAIR)
    assert other.status_code == 400 and "not supported" in other.json()["error"]
    assert httpx.post(f"{url}/translate_file", data=PAIR).status_code == 400


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    blocks = (block.splitlines() for block in text.strip().split("\n\n"))
    return [(block[0].removeprefix("event: "), json.loads(block[1].removeprefix("data: "))) for block in blocks]


def test_documents_stream_sentence_by_sentence(start: Start, translator: Translator) -> None:
    url = start()
    sources = ["Here is the lamp.", "* * *", "It is very old."]
    body = {"segments": sources, "alternatives": 1, "history": [["Hi, Anna.", "Hallo, Anna."]]}
    answer = httpx.post(f"{url}/v1/documents", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    made = events(answer.text)
    assert [name for name, _ in made] == ["segment"] * 3 + ["done"]
    expected = translator.translate(sources, history=[("Hi, Anna.", "Hallo, Anna.")])
    assert [data["target"] for _, data in made[:-1]] == expected.texts
    assert [data["source"] for _, data in made[:-1]] == sources
    for wrong in ({}, {"segments": ["a"], "text": "b"}, {"segments": ["a"], "registre": "formal"}):
        refused = httpx.post(f"{url}/v1/documents", json=wrong)
        assert refused.status_code == 400 and list(refused.json()) == ["error"]


def test_a_client_that_vanishes_stops_its_translation(start: Start) -> None:
    url = start()
    engine = start.app.state.service.engine  # type: ignore[attr-defined]
    body = {"segments": [f"Here is the lamp number {number}." for number in range(400)]}
    with httpx.stream("POST", f"{url}/v1/documents", json=body) as answer:
        next(answer.iter_lines())
        assert engine.open == 1
    began = time.monotonic()
    while engine.open and time.monotonic() < began + 10:
        time.sleep(0.02)
    assert not engine.open


def test_a_client_that_leaves_before_the_answer_stops_its_translation(start: Start) -> None:
    url = start()
    engine = start.app.state.service.engine  # type: ignore[attr-defined]
    body = {"q": [f"Here is the lamp number {number}." for number in range(400)], **PAIR}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{url}/translate", json=body, timeout=0.3)
    began = time.monotonic()
    counted = 'path="/translate",status="499"'
    while time.monotonic() < began + 10 and (engine.open or counted not in httpx.get(f"{url}/metrics").text):
        time.sleep(0.05)
    assert not engine.open and counted in httpx.get(f"{url}/metrics").text


def test_a_client_that_leaves_before_its_file_is_done_stops_it(start: Start, tmp_path: Path) -> None:
    url = start(jobs=tmp_path / "jobs")
    text = "\n\n".join(f"Here is the lamp number {number}." for number in range(400))
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{url}/translate_file", data=PAIR, files={"file": ("a.txt", text.encode())}, timeout=0.3)
    counted = 'path="/translate_file",status="499"'
    wait_until(lambda: counted in httpx.get(f"{url}/metrics").text)
    wait_until(lambda: not list((tmp_path / "jobs").glob("*/job.json")))


def test_a_defect_is_counted_and_says_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    url = start()
    monkeypatch.setattr("fenster.serve.libretranslate.detect_language", lambda *_: 1 / 0)
    answer = httpx.post(f"{url}/detect", json={"q": "Hi."})
    assert answer.status_code == 500 and "ZeroDivision" not in answer.text and list(answer.json()) == ["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert 'path="/detect",status="500"} 1.0' in httpx.get(f"{url}/metrics").text


def test_texts_of_odd_characters(start: Start) -> None:
    url = start(most_characters=1000)
    half = httpx.post(
        f"{url}/v1/documents", content=b'{"text": "\\ud800"}', headers={"Content-Type": "application/json"}
    )
    assert half.status_code == 400 and "surrogate" in half.json()["error"]
    returns = httpx.post(f"{url}/translate", json={"q": "Here is the lamp.\rIt is old.\r\nYes", **PAIR})
    assert returns.status_code == 200 and len(returns.json()["translatedText"].splitlines()) == 3
    long = httpx.post(f"{url}/v1/documents", json={"text": "A sentence. " * 100})
    assert long.status_code == 413
    tags = httpx.post(
        f"{url}/translate", json={"q": "Hello <![ world.</p>" + "<a " * 200 + "<p>x</p>", "format": "html", **PAIR}
    )
    assert tags.status_code == 200


def test_keys_and_rates(start: Start, tmp_path: Path) -> None:
    key = new_key()
    (tmp_path / "keys").write_text(f"# keys\n{hashed(key)} anna\n")
    url = start(keys=tmp_path / "keys", requests_per_minute=3)
    body = {"q": "Here is the lamp.", **PAIR}
    for wrong in (body, body | {"api_key": "wrong"}):
        answer = httpx.post(f"{url}/translate", json=wrong)
        assert answer.status_code == 403 and "API key" in answer.json()["error"]
    assert LibreTranslateAPI(url, key).translate("Here is the lamp.", "en", "de")
    assert httpx.post(f"{url}/translate", json=body, headers={"Authorization": f"Bearer {key}"}).status_code == 200
    assert httpx.post(f"{url}/v1/documents", json={"text": "Hi."}).status_code == 403
    assert httpx.post(f"{url}/translate", json=body | {"api_key": key}).status_code == 200
    slow = httpx.post(f"{url}/translate", json=body | {"api_key": key})
    assert slow.status_code == 429 and 0 < int(slow.headers["retry-after"]) <= 60
    assert httpx.get(f"{url}/frontend/settings").json()["keyRequired"] is True


def test_large_bodies_headers_and_metrics(start: Start) -> None:
    url = start(most_bytes=5000)
    large = httpx.post(f"{url}/translate", content=b"x" * 6000)
    assert large.status_code == 413 and "error" in large.json()
    chunked = httpx.post(f"{url}/translate", content=iter([b"{}"]))
    assert chunked.status_code == 413, "a body without a length could be of any"
    answer = httpx.get(f"{url}/languages", headers={"Origin": "https://example.com"})
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "default-src 'none'"
    assert "access-control-allow-origin" not in answer.headers
    text = httpx.get(f"{url}/metrics").text
    assert 'fenster_requests_total{path="/languages",status="200"} 1.0' in text and "fenster_open 0.0" in text
    described = httpx.get(f"{url}/openapi.json").json()
    assert described["info"]["title"] == "Fenster"
    for path in ("/translate", "/detect", "/translate_file", "/v1/files", "/v1/documents", "/v1/attention"):
        assert described["paths"][path]["post"]["requestBody"]["content"], path
    missing = httpx.get(f"{url}/nothing")
    assert missing.status_code == 404 and list(missing.json()) == ["error"]


def test_origins_that_are_asked_for(start: Start) -> None:
    url = start(origins=("https://example.com",))
    answer = httpx.get(f"{url}/languages", headers={"Origin": "https://example.com"})
    assert answer.headers["access-control-allow-origin"] == "https://example.com"
    asked = {"Origin": "https://example.com", "Access-Control-Request-Method": "DELETE"}
    asked["Access-Control-Request-Headers"] = "authorization"
    assert httpx.options(f"{url}/v1/files/x", headers=asked).status_code == 200


def finished(url: str, job: str, seconds: float = 60) -> dict[str, object]:
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        status: dict[str, object] = httpx.get(f"{url}/v1/files/{job}").json()
        if status["state"] in ("done", "failed"):
            return status
        time.sleep(0.05)
    raise TimeoutError(status)


def test_files_in_the_background(start: Start, translator: Translator) -> None:
    url = start()
    upload = {"file": ("dir/letter.txt", b"Here is the lamp.\nIt is very old.\n")}
    answer = httpx.post(f"{url}/v1/files", files=upload, data={"register": "formal"})
    assert answer.status_code == 202 and answer.json()["name"] == "letter.txt"
    job = answer.json()["job"]
    assert finished(url, job) == {"job": job, "name": "letter.txt", "state": "done", "segments": 2, "done": 2}
    result = httpx.get(f"{url}/v1/files/{job}/result")
    expected = translator.translate(["Here is the lamp.", "It is very old."], register="formal").texts
    assert result.text.splitlines() == expected and "letter_de.txt" in result.headers["content-disposition"]
    assert httpx.delete(f"{url}/v1/files/{job}").json()["state"] == "removed"
    assert httpx.get(f"{url}/v1/files/{job}").status_code == 404
    bad = httpx.post(f"{url}/v1/files", files={"file": ("x.docx", b"PK no archive")}).json()["job"]
    status = finished(url, bad)
    assert status["state"] == "failed" and status["error"]
    assert httpx.get(f"{url}/v1/files/{bad}/result").status_code == 409
    long = httpx.post(f"{url}/v1/files", files={"file": ("book.txt", b"Here is the lamp.\n\n" * 500)}).json()["job"]
    assert httpx.delete(f"{url}/v1/files/{long}").status_code == 200
    assert httpx.post(f"{url}/v1/files", files={"file": ("x.exe", b"MZ")}).status_code == 400


@pytest.mark.slow
def test_a_kill_loses_no_file(translator: Translator, tmp_path: Path) -> None:
    """SIGKILL in the middle; the next start finishes the job, with the result of an undisturbed one."""
    assert isinstance(translator.loaded, LoadedModel)
    model = write_model(translator.loaded, tmp_path / "model")
    sources = [f"Here is the lamp of {name}." for name in ("Anna", "Ben", "Carl", "Dora") * 25]
    first = Server(tmp_path, model)
    body = "\n\n".join(sources) + "\n"
    job = httpx.post(f"{first.url}/v1/files", files={"file": ("book.txt", body.encode())}).json()["job"]
    while httpx.get(f"{first.url}/v1/files/{job}").json()["done"] < 5:
        time.sleep(0.01)
    first.process.kill()
    first.process.wait()
    second = Server(tmp_path, model)
    status = finished(second.url, job, 120)
    result = httpx.get(f"{second.url}/v1/files/{job}/result").text
    second.process.terminate()
    assert second.process.wait(30) == 0, "SIGTERM is a clean end"
    assert status["state"] == "done" and "resuming after" in (tmp_path / "log").read_text()
    loaded = Translator.load(model, DecodeConfig(beam=2, guards=True, batch_size=32), "cpu")
    assert [line for line in result.split("\n") if line] == loaded.translate(sources).texts


class Server:
    """`fenster serve` as a process of its own."""

    def __init__(self, folder: Path, model: Path) -> None:
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = chosen.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "fenster", "serve", "-m", str(model), "--port", str(port), "--beam", "2"]
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--jobs", str(folder / "jobs")],
                stderr=log,
                stdout=log,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        began = time.monotonic()
        while True:
            try:
                assert httpx.get(f"{self.url}/health").status_code == 200
                return
            except httpx.TransportError:
                assert self.process.poll() is None and time.monotonic() < began + 120, (folder / "log").read_text()
                time.sleep(0.1)


def test_sessions_remember(start: Start, translator: Translator) -> None:
    url = start()
    session = httpx.post(f"{url}/v1/sessions").json()["session"]
    said = ["Here is the lamp.", "It is very old.", "Anna saw it."]
    made = []
    for text in said:
        answer = httpx.post(f"{url}/v1/documents", json={"segments": [text], "session": session})
        made.append(events(answer.text)[0][1]["target"])
    assert made == translator.translate(said).texts, "as if it had been one document"
    assert httpx.delete(f"{url}/v1/sessions/{session}").status_code == 200
    assert httpx.delete(f"{url}/v1/sessions/{session}").status_code == 404
    gone = httpx.post(f"{url}/v1/documents", json={"segments": ["Hi."], "session": session})
    assert gone.status_code == 404 and gone.json() == {"error": "no such session"}


def test_the_page_and_what_it_asks_for(start: Start) -> None:
    url = start()
    page = httpx.get(url)
    assert "<title>Fenster" in page.text and "script-src 'self'" in page.headers["content-security-policy"]
    for name in ("page.css", "page.js", "icon.svg"):
        assert f"page/{name}" in page.text and httpx.get(f"{url}/page/{name}").status_code == 200
    assert httpx.get(f"{url}/page/../app.py").status_code in (400, 404)
    assert ".docx" in httpx.get(f"{url}/v1/settings").json()["formats"]
    body = {
        "sources": ["Here is the lamp.", "It is old."],
        "targets": ["Hier ist die Lampe.", "Sie ist alt."],
        "word": 0,
    }
    words = httpx.post(f"{url}/v1/attention", json=body).json()["words"]
    assert [one["text"] for one in words][-3:] == ["It", "is", "old."] and words[-1]["inside"]
    assert sum(one["weight"] for one in words) == pytest.approx(1, abs=0.3)
    wrong = httpx.post(f"{url}/v1/attention", json=body | {"targets": ["Hier."]})
    assert wrong.status_code == 400
    missing = httpx.post(f"{url}/v1/attention", json=body | {"word": 30})
    assert missing.status_code == 400 and "no word 30" in missing.text
    large = httpx.post(f"{url}/v1/attention", json={"sources": ["x" * 3000], "targets": ["y" * 3000], "word": 0})
    assert large.status_code == 413


def test_a_glossary_of_the_request(start: Start) -> None:
    url = start()
    body = {"segments": ["Here is the lamp.", "It is very old."], "glossary": {"lamp": ["Leuchte", "Leuchten"]}}
    (_, first), (_, second), _ = events(httpx.post(f"{url}/v1/documents", json=body).text)
    assert "Leuchte" in str(first["target"]) and "Leuchte" not in str(second["target"])
    (_, plain), *_ = events(httpx.post(f"{url}/v1/documents", json={"segments": body["segments"]}).text)
    assert "Leuchte" not in str(plain["target"]), "it is for that request only"
    mistakes: tuple[object, ...] = ({"lamp": ""}, {" ": "Leuchte"}, {"lamp": []}, {"lamp": 7}, ["lamp"])
    for wrong in mistakes:
        refused = httpx.post(f"{url}/v1/documents", json=body | {"glossary": wrong})
        assert refused.status_code == 400 and "glossary" in refused.json()["error"], wrong


def test_a_file_with_a_glossary_comes_back_for_review(start: Start) -> None:
    url = start()
    upload = {"file": ("žluť.txt", b"Here is the lamp.\nIt is very old.\n")}
    answer = httpx.post(f"{url}/v1/files", files=upload, data={"glossary": '{"lamp": "Leuchte"}'})
    job = answer.json()["job"]
    assert httpx.get(f"{url}/v1/files/{job}/bilingual").status_code in (200, 409)
    assert finished(url, job)["state"] == "done"
    result = httpx.get(f"{url}/v1/files/{job}/result").text.splitlines()
    assert "Leuchte" in result[0]
    page = httpx.get(f"{url}/v1/files/{job}/bilingual")
    assert all(escape(text) in page.text for text in ["Here is the lamp.", *result])
    assert quote("žluť_bilingual.html") in page.headers["content-disposition"]
    for kind, begins in (("docx", b"PK"), ("tmx", b"<?xml"), ("xliff", b"<?xml")):
        assert httpx.get(f"{url}/v1/files/{job}/bilingual?format={kind}").content.startswith(begins)
    assert httpx.get(f"{url}/v1/files/{job}/bilingual?format=exe").status_code == 400
    for wrong in ("{", "[]", '{"lamp": ""}'):
        assert httpx.post(f"{url}/v1/files", files=upload, data={"glossary": wrong}).status_code == 400


def test_finished_files_outlive_the_service_for_a_day(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    url = start(jobs=folder)
    tokens = [
        httpx.post(f"{url}/v1/files", files={"file": (name, b"Here is the lamp.\n\nIt is old.\n")}).json()["job"]
        for name in ("a.txt", "b.txt")
    ]
    before = [finished(url, token, 60) for token in tokens]
    start.stop()  # type: ignore[attr-defined]
    yesterday = time.time() - 25 * 3600
    os.utime(folder / tokens[1] / "job.json", (yesterday, yesterday))
    url = start(jobs=folder)
    assert httpx.get(f"{url}/v1/files/{tokens[0]}").json() == before[0], "with its counts"
    assert before[0]["segments"] == before[0]["done"] == 3, "lines"
    wait_until(lambda: httpx.get(f"{url}/v1/files/{tokens[1]}").status_code == 404)
    assert not (folder / tokens[1]).exists() and (folder / tokens[0]).exists()


def test_one_service_per_folder_of_jobs(start: Start, tmp_path: Path) -> None:
    start(jobs=tmp_path / "jobs")
    with pytest.raises(FensterError, match="another service keeps its jobs here"):
        start(jobs=tmp_path / "jobs")


def test_the_description_of_the_interface_needs_no_other_server(start: Start) -> None:
    url = start()
    page = httpx.get(f"{url}/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(assets) >= 2 and all(one.startswith("/docs-page/") for one in assets)
    assert all(httpx.get(url + one).status_code == 200 for one in assets)
    assert httpx.get(f"{url}/openapi.json").json()["info"]["title"] == "Fenster"
