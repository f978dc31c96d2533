"""How the service runs."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from fenster.config import Config


class ServeConfig(Config):
    host: str = "127.0.0.1"
    port: int = Field(default=8990, ge=0, le=65535)
    most_waiting: int = Field(default=256, ge=1)
    """Requests that may wait for their turn; further ones are told to come back later (429)."""
    most_characters: int = Field(default=200_000, ge=1)
    """Longest text of a request, in characters; a longer one is refused (413)."""
    most_bytes: int = Field(default=50_000_000, ge=1)
    """Largest body of a request in bytes, files included; a larger one is refused (413)."""
    deadline: float = Field(default=600.0, gt=0, le=7 * 24 * 3600.0)
    """Seconds that a request may take before it is abandoned (504)."""
    keys: Path | None = None
    """A file of API keys, hashed (`fenster serve --new-key`); without one anybody who reaches the service may use
    it."""
    jobs: Path | None = None
    """A folder for files that are translated in the background: what is not finished when the service ends, or is
    killed, is picked up at the next start. Without one jobs live as long as the service."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Per key, or per address without keys."""
    origins: tuple[str, ...] = ()
    """Web pages of these origins may use the service (CORS); none by default."""
