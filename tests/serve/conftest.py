"""A real server with a small random model, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="an extra: pip install 'fenster[serve]'")

import uvicorn

from fenster.data.dataset import PreparedData
from fenster.data.tokenizer import Tokenizer
from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator
from fenster.serve.app import create_app
from fenster.serve.config import ServeConfig
from tests.decode.test_protected import loaded, symbols

__all__ = ["symbols"]
Start = Callable[..., str]


@pytest.fixture
def translator(toy: PreparedData, symbols: Tokenizer) -> Translator:
    config = DecodeConfig(beam=2, length_ratio=1.0, length_extra=4, guards=False, batch_size=4)
    return Translator(loaded(toy, symbols), config)


@pytest.fixture
def start(translator: Translator) -> Iterator[Start]:
    """Start a server with some settings; returns its address. `start.app` is the last one's app, `start.stop()` ends
    all of them."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def begin(**settings: Any) -> str:
        app = create_app(translator, ServeConfig(**settings))
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        begin.app = app  # type: ignore[attr-defined]
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    def stop() -> None:
        while running:
            server, thread = running.pop()
            server.should_exit = True
            thread.join(timeout=20)
            assert not thread.is_alive()

    begin.stop = stop  # type: ignore[attr-defined]
    yield begin
    stop()
