"""How the service runs and translates. The command line's options are made from these classes."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from fenster.config import Config
from fenster.decode.config import DecodeConfig, RegisterPolicy


class ServeConfig(Config):
    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 for all, behind a reverse proxy."""
    port: int = Field(default=8990, ge=0, le=65535)
    """The port to listen on; 0 picks a free one."""
    keys: Path | None = None
    """A file of hashed API keys (`fenster serve --new-key`); without one anybody who reaches the service may use
    it."""
    jobs: Path | None = None
    """A folder for files that are translated in the background: jobs that are unfinished when the service ends resume
    at the next start. Without it, they exist only as long as the service runs."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Limit per key, or per address if there are no keys."""
    most_waiting: int = Field(default=256, ge=1)
    """Requests that may wait for their turn; further ones get status 429."""
    most_characters: int = Field(default=200_000, ge=1)
    """Longest text of a request, in characters; a longer one gets status 413."""
    most_bytes: int = Field(default=50_000_000, ge=1)
    """Largest body of a request in bytes, files included; a larger one gets status 413."""
    deadline: float = Field(default=600.0, gt=0, le=7 * 24 * 3600.0)
    """Seconds that a request may take before it gets status 504."""
    origins: tuple[str, ...] = ()
    """Origins whose web pages may use the service (CORS); none by default."""


class ServeDecodeConfig(DecodeConfig):
    """A small beam, since somebody waits."""

    beam: int = Field(default=4, ge=1, le=512)
    """Hypotheses kept; 1 is greedy."""
    # Again, since pydantic would take the method that metaclasses of abstract classes have for its default.
    register: RegisterPolicy = "auto"
    """How people are addressed (Sie or du), where a request leaves it open."""
