"""The service under load: clients that each wait for an answer before they ask again, over real HTTP.

The same documents by all clients together, one after the other, and sentence by sentence as LibreTranslate does it,
against one server, in turn.
"""

from __future__ import annotations

import http.client
import json
import queue
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fenster.errors import FensterError

_SENTENCES = (
    "Here is the lamp that you bought yesterday.",
    "It is very old, and it does not work any more.",
    "The committee will meet again on Thursday morning.",
    "I have no idea where she put the keys.",
    "Please close the window before you leave the room.",
    "The results of the first experiment were better than we had expected.",
    "He walked along the river until it was dark.",
    "You can change the language in the settings.",
    "Nobody knew what had happened to the ship and its crew.",
    "We need more time to finish this report.",
    "The price has doubled since last year, and customers are complaining about it.",
    "My brother lives in a small village near the border.",
)
_START = 180.0  # seconds that a server may take to load its model
_MOST_SENTENCES = 8


@dataclass(frozen=True)
class Load:
    """What some clients saw."""

    way: str
    clients: int
    documents: int
    seconds: float
    waits: tuple[float, ...]
    """Of each document, in seconds."""

    @property
    def rate(self) -> float:
        """Documents per second."""
        return self.documents / self.seconds

    def quantile(self, share: float) -> float:
        return statistics.quantiles(self.waits, n=100, method="inclusive")[round(100 * share) - 1]


def documents(count: int, seed: int = 1) -> list[list[str]]:
    """Documents of one to eight sentences."""
    draw = random.Random(seed)
    return [[draw.choice(_SENTENCES) for _ in range(draw.randint(1, _MOST_SENTENCES))] for _ in range(count)]


def measure(port: int, clients: int, given: Sequence[list[str]], by_sentence: bool = False) -> Load:
    """All documents through some clients. `by_sentence` asks for each sentence alone."""
    waiting: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    for document in given:
        waiting.put(document)
    waits: list[float] = []
    errors: list[str] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        while not errors:
            try:
                document = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.perf_counter()
            for part in [[one] for one in document] if by_sentence else [document]:
                body = json.dumps({"q": part, "source": "en", "target": "de"})
                connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200 or len(json.loads(text)["translatedText"]) != len(part):
                    errors.append(f"status {answer.status}: {text[:200]!r}")
            waits.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if errors:
        raise FensterError(f"the service answered with {errors[0]}")
    way = "each sentence alone" if by_sentence else "whole documents"
    return Load(way, clients, len(given), seconds, tuple(waits))


@contextmanager
def server(model: Path, device: str, batch_size: int) -> Iterator[int]:
    """A server of its own; its port."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
    options = ["--port", str(port), "-m", str(model), "--device", device, "--batch-size", str(batch_size)]
    command = [sys.executable, "-m", "fenster", "serve", *options, "--most-waiting", "1000"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    began = time.monotonic()
    while time.monotonic() < began + _START:
        if process.poll() is not None:
            raise FensterError("the server ended at once", fix="start `fenster serve` to see why")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise FensterError(f"the server did not answer within {_START:.0f} s")
