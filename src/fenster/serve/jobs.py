"""Files that are translated in the background: a job per upload, with a journal, so that a crash loses nothing.

Each job is a folder with a name that nobody can guess: `job.json`, the upload, the journal of finished segments, and
in the end the result. Jobs that were not finished are picked up when the service starts again.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import shutil
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fenster.decode.files import document_format
from fenster.decode.files.base import FileOptions, ParsedFile
from fenster.decode.files.bilingual import Pair, Review, rendered_review
from fenster.decode.glossary import GivenTerms
from fenster.decode.result import Translated
from fenster.decode.resume import Journal, stamp
from fenster.document import Document
from fenster.errors import FensterError, writing
from fenster.io.files import FileSource, atomic_path
from fenster.io.lock import ProcessLock
from fenster.io.progress import report
from fenster.serve.engine import Engine, FailedError, OverloadedError, TooLateError

_KEPT = 24 * 3600.0  # seconds that a finished job is kept
_KEPT_FIELDS = ("name", "register", "glossary", "state", "error", "segments", "done")
_CLEANED = 600.0  # seconds between looks for old jobs
_AGAIN = 1.0  # seconds until a job asks for its turn again
_TRIES = 3
_PAIRS = "pairs.json"
_PATIENCE = 30 * 24 * 3600.0  # seconds that a job may take


@dataclass
class FileJob:
    token: str
    name: str
    """The client's, to show; never part of a path."""
    register: str = ""
    glossary: GivenTerms = field(default_factory=dict, repr=False)
    state: str = "waiting"  # running, done, failed
    error: str = ""
    segments: int = 0
    done: int = 0
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix.lower()

    def status(self) -> dict[str, object]:
        shown = {
            "job": self.token,
            "name": self.name,
            "state": self.state,
            "segments": self.segments,
            "done": self.done,
        }
        return shown | ({"error": self.error} if self.error else {})


class FileJobs:
    """`folder` is where jobs survive; without one they live as long as the service."""

    def __init__(self, engine: Engine, options: FileOptions, folder: Path | None, most: int) -> None:
        self._engine, self._options, self._most = engine, options, most
        self._languages = (options.language, options.target)
        self._temporary = None if folder is not None else tempfile.TemporaryDirectory(prefix="fenster-jobs-")
        self._folder = folder if folder is not None else Path(self._temporary.name if self._temporary else "")
        self._lock = ProcessLock(self._folder / ".lock")
        self._jobs: dict[str, FileJob] = {}
        self._cleaning: asyncio.Task[None] | None = None

    def lock(self) -> None:
        """One service per folder: two would take each other's jobs."""
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._lock.acquire():
                raise FensterError(
                    "another service keeps its jobs here", path=self._folder, fix="give each service its own --jobs"
                )

    def start(self) -> None:
        """Pick up what an earlier process left."""
        self._cleaning = asyncio.create_task(self._clean())
        for path in self._folder.glob("*/job.json"):
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                job = FileJob(path.parent.name, **record)
            except (ValueError, TypeError) as error:
                report(f"{path}: not a job ({error}); its folder is removed after a day")
                continue
            self._jobs[job.token] = job
            if job.state in ("waiting", "running"):
                job.task = asyncio.create_task(self._work(job))

    async def stop(self) -> None:
        """What is not finished is left for the next start, if there is a folder that stays."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None and not job.task.done()]
        if self._cleaning is not None:
            tasks.append(self._cleaning)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._lock.release()
        if self._temporary is not None:
            self._temporary.cleanup()

    def add(self, data: bytes, name: str, register: str, glossary: GivenTerms | None = None) -> FileJob:
        self._forget()
        if sum(job.state in ("waiting", "running") for job in self._jobs.values()) >= self._most:
            raise OverloadedError
        job = FileJob(secrets.token_hex(16), name, register, glossary or {})
        (self._folder / job.token).mkdir(parents=True)
        with atomic_path(self._upload(job)) as temporary:
            temporary.write_bytes(data)
        self._keep(job)
        self._jobs[job.token] = job
        job.task = asyncio.create_task(self._work(job))
        return job

    def find(self, token: str) -> FileJob | None:
        return self._jobs.get(token) if re.fullmatch("[0-9a-f]{32}", token) else None

    def result(self, job: FileJob) -> Path:
        return self._folder / job.token / f"result{job.suffix}"

    async def bilingual(self, job: FileJob, suffix: str) -> bytes:
        """Source and translation of a finished job, side by side, as a file of some kind."""
        pairs = await asyncio.to_thread((self._folder / job.token / _PAIRS).read_text, encoding="utf-8")
        review = Review(job.name, self._languages, [Pair(*pair) for pair in json.loads(pairs)])
        return await asyncio.to_thread(rendered_review, suffix, review)

    async def finished(self, job: FileJob, seconds: float) -> bool:
        """Wait for a job; one that takes longer is removed."""
        assert job.task is not None
        await asyncio.wait([job.task], timeout=seconds)
        if not job.task.done():
            await self.remove(job)
            return False
        return True

    async def remove(self, job: FileJob) -> None:
        """Cancel a job, and forget all of it."""
        if job.task is not None and not job.task.done():
            job.task.cancel()
            with suppress(asyncio.CancelledError):
                await job.task
        self._jobs.pop(job.token, None)
        shutil.rmtree(self._folder / job.token, ignore_errors=True)

    async def _work(self, job: FileJob) -> None:
        job.state = "running"
        try:
            parsed = await asyncio.to_thread(self._parsed, job)
            job.segments = len(parsed.segments)
            documents = parsed.as_documents(job.register)
            with Journal(self.result(job), await asyncio.to_thread(self._stamp, job, documents)) as journal:
                translated = await self._translated(job, documents, journal)
                await asyncio.to_thread(self._write, job, parsed, translated)
                journal.remove()
            job.state = "done"
        except (FensterError, FailedError, TooLateError) as error:
            job.state, job.error = "failed", str(error) or type(error).__name__
        except Exception as error:
            traceback.print_exception(error)
            job.state, job.error = "failed", "something went wrong; see the server's log"
        self._keep(job)

    def _parsed(self, job: FileJob) -> ParsedFile:
        upload = self._upload(job)
        shown = Path(f"upload{job.suffix}")  # errors name it, and it says nothing of this machine
        return document_format(None, shown).parse(FileSource(upload.read_bytes(), shown), self._options)

    def _write(self, job: FileJob, parsed: ParsedFile, translated: Sequence[Translated]) -> None:
        """The result, and what reviewers read."""
        pairs = [Pair.of(where.line, one) for where, one in zip(parsed.segments, translated, strict=True)]
        with atomic_path(self._folder / job.token / _PAIRS) as temporary:
            temporary.write_text(json.dumps(pairs, ensure_ascii=False), encoding="utf-8")
        with atomic_path(self.result(job)) as temporary:
            temporary.write_bytes(parsed.rendered(iter(translated)))

    def _stamp(self, job: FileJob, documents: Sequence[Document]) -> str:
        """Of everything that the translation depends on: a journal of another text or model is not resumed from."""
        translator = self._engine.translator
        settings = translator.settings() | {"terms": dict(job.glossary)}
        return stamp([one.segments for one in documents], translator.loaded.folder, settings)

    async def _translated(self, job: FileJob, documents: Sequence[Document], journal: Journal) -> list[Translated]:
        made: list[Translated] = []
        for number, document in enumerate(documents):
            known = journal.known.get(number, [])
            made += known
            job.done = len(made)
            async for one in self._stream(document, known, job.glossary):
                journal.note(number, one)
                made.append(one)
                job.done += 1
        return made

    async def _stream(
        self, document: Document, known: Sequence[Translated], terms: GivenTerms
    ) -> AsyncIterator[Translated]:
        """The rest of a document, whatever others do: when the queue is full, or a batch fails, it tries again."""
        made, tries = list(known), 0
        while len(made) < len(document):
            try:
                async for one in await self._engine.stream(document, deadline=_PATIENCE, done=made, terms=terms):
                    made.append(one)
                    yield one
            except OverloadedError:
                await asyncio.sleep(_AGAIN)
            except FailedError:
                tries += 1
                if tries >= _TRIES:
                    raise

    def _upload(self, job: FileJob) -> Path:
        return self._folder / job.token / f"upload{job.suffix}"

    def _keep(self, job: FileJob) -> None:
        record = {name: getattr(job, name) for name in _KEPT_FIELDS}
        with atomic_path(self._folder / job.token / "job.json") as temporary:
            temporary.write_text(json.dumps(record) + "\n", encoding="utf-8")

    async def _clean(self) -> None:
        """Forget old jobs now and then, whether or not new ones come."""
        while True:
            self._forget()
            await asyncio.sleep(_CLEANED)

    def _forget(self) -> None:
        """Remove jobs that have been finished for long, and what a process that died left of others."""
        old = time.time() - _KEPT
        for folder in self._folder.glob("[0-9a-f]*"):
            if folder.is_dir() and self.find(folder.name) is None and folder.stat().st_mtime < old:
                shutil.rmtree(folder, ignore_errors=True)
        for job in [one for one in self._jobs.values() if one.state in ("done", "failed")]:
            path = self._folder / job.token / "job.json"
            if not path.is_file() or path.stat().st_mtime < old:
                self._jobs.pop(job.token)
                shutil.rmtree(path.parent, ignore_errors=True)
