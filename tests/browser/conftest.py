"""A real Chromium against a real `fenster serve` with the bundled model."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


class Server:
    """`fenster serve` as a process of its own, on a port that stays."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port: int = chosen.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "fenster", "serve", "--port", str(self.port), "--beam", "4"]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=environment)
        began = time.monotonic()
        while time.monotonic() < began + 180:
            assert self.process.poll() is None, self._log.read_text()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/health")
                assert connection.getresponse().status == 200
                return
            except OSError:
                time.sleep(0.2)
        raise TimeoutError(self._log.read_text())

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server") / "log")
    made.start()
    yield made
    if made.process is not None and made.process.poll() is None:
        assert made.stop() == 0, "SIGTERM is a clean end"


@pytest.fixture(scope="session")
def browser_path() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None or shutil.which("chromedriver") is None:
        pytest.skip(
            "needs Chromium and its driver: apt-get install chromium chromium-driver (make test-browser does)"
        )
    return path
