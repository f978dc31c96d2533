"""Does the service stay up? python experiments/soak.py [--minutes 10] [--clients 48] [-o FILE]

More clients than the service can serve, with a short queue: documents, single texts, bad bodies, bodies that are too
large, and clients that leave in the middle. Every request must get an answer, documents one translation per sentence,
and the server's memory must not grow.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter

import psutil
from script import parser, write

from fenster.bench.serve import documents

KINDS = ("list", "list", "text", "stream", "vanish", "malformed", "large", "language")


class Client(threading.Thread):
    def __init__(self, port: int, seed: int, until: float) -> None:
        super().__init__(daemon=True)
        self._port, self._draw, self._until = port, random.Random(seed), until
        self.statuses: Counter[str] = Counter()
        self.waits: list[float] = []
        self.lost = 0

    def run(self) -> None:
        while time.monotonic() < self._until:
            kind = self._draw.choice(KINDS)
            began = time.monotonic()
            try:
                status = self._ask(kind, documents(1, self._draw.randrange(1 << 30))[0])
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.lost += 1
                status = type(error).__name__
            self.statuses[f"{kind} {status}"] += 1
            if status == 429:
                time.sleep(self._draw.random())
            elif status == 200:
                self.waits.append(time.monotonic() - began)

    def _ask(self, kind: str, document: list[str]) -> object:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=300)
        languages = {"source": "en", "target": "xx" if kind == "language" else "de"}
        bodies = {
            "text": json.dumps({"q": " ".join(document), **languages}),
            "malformed": '{"q": ',
            "large": json.dumps({"q": "x" * 300_000, **languages}),
            "stream": json.dumps({"segments": document}),
            "vanish": json.dumps({"segments": document * 20}),
        }
        body = bodies.get(kind, json.dumps({"q": document, **languages}))
        path = "/v1/documents" if kind in ("stream", "vanish") else "/translate"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        if kind == "vanish":
            time.sleep(self._draw.random())
            connection.close()
            return "left"
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status == 200:
            made = text.count("event: segment") if kind == "stream" else len(json.loads(text)["translatedText"])
            if kind != "text" and made != len(document):
                raise ValueError(f"{made} translations of {len(document)} sentences")
        elif "error" not in json.loads(text):
            raise ValueError("an answer that says nothing")
        return answer.status


def main() -> None:
    options_parser = parser(__doc__)
    options_parser.add_argument("--minutes", type=float, default=10)
    options_parser.add_argument("--clients", type=int, default=48)
    options = options_parser.parse_args()
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    command = [sys.executable, "-m", "fenster", "serve", "--port", str(port), "-m", str(options.model)]
    server = subprocess.Popen([*command, "--most-waiting", "16", "--beam", "2"], stderr=subprocess.DEVNULL)
    process = psutil.Process(server.pid)
    while True:
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/health")
            break
        except OSError:
            time.sleep(0.2)
    clients = [Client(port, seed, time.monotonic() + 60 * options.minutes) for seed in range(options.clients)]
    for client in clients:
        client.start()
    memory = []
    while any(client.is_alive() for client in clients):
        time.sleep(5)
        memory.append(process.memory_info().rss / 2**20)
        if len(memory) % 12 == 0:
            print(f"{len(memory) / 12:.0f} min: {memory[-1]:.0f} MiB", flush=True)
    server.terminate()
    code = server.wait(120)
    statuses = sum((client.statuses for client in clients), Counter[str]())
    waits = [wait for client in clients for wait in client.waits]
    result = {
        "minutes": options.minutes,
        "clients": options.clients,
        "statuses": dict(sorted(statuses.items())),
        "lost": sum(client.lost for client in clients),
        "p50": statistics.median(waits),
        "p95": statistics.quantiles(waits, n=20)[-1],
        "memory after a minute, MiB": round(memory[min(11, len(memory) - 1)]),
        "memory at the end, MiB": round(memory[-1]),
        "exit code after SIGTERM": code,
    }
    print(json.dumps(result, indent=1))
    write(result | {"memory every 5 s, MiB": [round(one) for one in memory]}, options.output)


if __name__ == "__main__":
    main()
