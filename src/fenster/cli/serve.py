"""`fenster serve`."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fenster.cli.options import Flag, ModelOption
from fenster.errors import ConfigError


def serve(
    *,
    model: ModelOption = ModelOption(),
    host: str = "127.0.0.1",
    port: int = 8990,
    beam: int = 4,
    batch_size: int = 32,
    device: str = "auto",
    glossary: Path | None = None,
    keys: Path | None = None,
    new_key: Flag = False,
    jobs: Path | None = None,
    requests_per_minute: int | None = None,
    most_waiting: int = 256,
    most_characters: int = 200_000,
    most_bytes: int = 50_000_000,
    deadline: float = 600.0,
    origins: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
) -> None:
    """Translate over HTTP, for LibreTranslate's clients and others.

    `/translate`, `/languages`, `/detect`, `/translate_file`, `/health` and `/frontend/settings` are LibreTranslate's;
    `/v1/documents` is ours. `/docs` describes all of them, `/metrics` is for Prometheus. Requests in flight share
    batches. After SIGTERM, accepted requests are finished first.

    Examples:

    ```
    fenster serve
    fenster serve --port 8080 --keys keys.txt --requests-per-minute 60
    fenster serve --new-key >> keys.txt
    ```

    Parameters
    ----------
    host
        The address to listen on; 0.0.0.0 for all, behind a reverse proxy.
    port
        The port to listen on; 0 picks a free one.
    beam
        Hypotheses kept in each search.
    batch_size
        Number of searches run at once.
    device
        cpu, cuda or auto.
    glossary
        Terms whose translation is prescribed, for all requests.
    keys
        A file of hashed API keys; without one anybody who reaches the service may use it.
    new_key
        Create an API key: print its hash, for the file of keys, and the key itself on standard error.
    jobs
        A folder for files that are translated in the background: jobs that are unfinished when the service ends
        resume at the next start. Without it, they exist only as long as the service runs.
    requests_per_minute
        Limit per key, or per address if there are no keys.
    most_waiting
        Requests that may wait for their turn; further ones get status 429.
    most_characters
        Longest text of a request, in characters; a longer one gets status 413.
    most_bytes
        Largest body of a request, in bytes; a larger one gets status 413.
    deadline
        Seconds that a request may take before it gets status 504.
    origins
        Origins whose web pages may use the service (CORS).
    """
    import sys

    from fenster.config import check
    from fenster.serve.access import hashed
    from fenster.serve.access import new_key as make_key
    from fenster.serve.config import ServeConfig

    if new_key:
        key = make_key()
        print(f"the key, which is not stored anywhere: {key}", file=sys.stderr)
        print(hashed(key))
        return
    config = check(
        {
            "host": host,
            "port": port,
            "keys": keys,
            "jobs": jobs,
            "requests_per_minute": requests_per_minute,
            "most_waiting": most_waiting,
            "most_characters": most_characters,
            "most_bytes": most_bytes,
            "deadline": deadline,
            "origins": origins,
        },
        ServeConfig,
    )
    try:
        import uvicorn

        from fenster.serve.app import create_app
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed", fix="pip install 'fenster[serve]'") from None

    from fenster.decode.config import DecodeConfig
    from fenster.decode.translator import Translator

    settings = check({"beam": beam, "batch_size": batch_size, "glossary": glossary}, DecodeConfig)
    _check_address(config.host, config.port)
    app = create_app(Translator.load(model.folder, settings, device), config)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=config.host,
            port=config.port,
            access_log=False,
            timeout_graceful_shutdown=round(config.deadline),
        )
    )
    try:
        server.run()
    except SystemExit:  # uvicorn raises the signal again when all is finished: that is a clean end
        if not server.should_exit or not server.started:
            raise


def _check_address(host: str, port: int) -> None:
    """Say what is wrong with an address before the model is loaded."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}, port {port} ({error.strerror or error})",
            fix="choose another --port, or another --host of this machine",
        ) from None
