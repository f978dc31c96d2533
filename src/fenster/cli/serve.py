"""`fenster serve`."""

from __future__ import annotations

import socket
from typing import Annotated

from cyclopts import Parameter

from fenster.cli.options import Device, Flag, ModelOption
from fenster.errors import ConfigError
from fenster.serve.config import ServeConfig, ServeDecodeConfig


def serve(
    *,
    model: ModelOption = ModelOption(),
    config: Annotated[ServeConfig, Parameter(name="*")] = ServeConfig(),
    decoding: Annotated[ServeDecodeConfig, Parameter(name="*")] = ServeDecodeConfig(),
    device: Device = "auto",
    new_key: Flag = False,
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
    new_key
        Create an API key: print its hash, for the file of keys, and the key itself on standard error.
    """
    import sys

    from fenster.serve.access import hashed
    from fenster.serve.access import new_key as make_key

    if new_key:
        key = make_key()
        print(f"the key, which is not stored anywhere: {key}", file=sys.stderr)
        print(hashed(key))
        return
    try:
        import uvicorn

        from fenster.serve.app import create_app
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed", fix="pip install 'fenster[serve]'") from None

    _check_address(config.host, config.port)
    app = create_app(model.translator(decoding, device), config)
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
