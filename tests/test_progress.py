"""What long work says in a log."""

from __future__ import annotations

import pytest

from fenster.io import progress


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    monkeypatch.setattr("fenster.io.progress.time.monotonic", lambda: now[0])
    with progress.bar("translating", 400) as advance:
        for _ in range(400):
            now[0] += 10
            advance(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "translating: 1%, about 1 h 6 min left"
    assert len(lines) == 133 and lines[-1] == "translating: 100%, about 10 s left"


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar("reading", 2) as advance:
        advance(1)
        advance(1)
    with progress.bar("unknown", 0) as advance:
        advance(5)
    assert capsys.readouterr().err == ""
