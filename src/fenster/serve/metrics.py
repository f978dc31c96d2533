"""What /metrics tells Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from fenster.serve.engine import Engine


class Metrics:
    def __init__(self, engine: Engine) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "fenster_requests", "Requests by path and status.", ["path", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "fenster_request_seconds", "Time that requests took.", ["path"], registry=self._registry
        )
        self.characters = Counter("fenster_characters", "Characters of source text.", registry=self._registry)
        for name, about, value in (
            ("fenster_waiting", "Documents in the queue.", lambda: engine.waiting),
            ("fenster_open", "Documents that are being translated.", lambda: engine.open),
        ):
            Gauge(name, about, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        return generate_latest(self._registry)
