"""The thread that owns the model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fenster.decode.translator import Translator
from fenster.document import Document
from fenster.errors import FensterError, InputError
from fenster.serve.engine import Engine, FailedError, OverloadedError, TooLateError

LONG = Document.of("", [f"Here is lamp {'very ' * (number % 5)}old." for number in range(40)])
SHORT = Document.of("", ["Here is the lamp.", "It is very old."])


@pytest.fixture
def engine(translator: Translator) -> Iterator[Engine]:
    made = Engine(translator, most_waiting=8)
    made.start()
    yield made
    made.stop()


def texts(engine: Engine, *documents: Document) -> list[list[str]]:
    async def run() -> list[list[str]]:
        results = await asyncio.gather(*(engine.translate(document) for document in documents))
        return [[segment.text for segment in result] for result in results]

    return asyncio.run(run())


def test_company_changes_nothing(engine: Engine, translator: Translator) -> None:
    alone = [translator.translate(document).texts for document in (SHORT, LONG, SHORT)]
    assert texts(engine, SHORT, LONG, SHORT) == alone
    assert texts(engine, Document("", ())) == [[]]


def test_a_short_document_does_not_wait_for_long_ones(engine: Engine) -> None:
    """Six books, and batches of four."""

    async def run() -> int:
        done = [0] * 6

        async def read(number: int) -> None:
            async for _ in await engine.stream(LONG):
                done[number] += 1

        books = [asyncio.create_task(read(number)) for number in range(6)]
        while not sum(done):
            await asyncio.sleep(0.001)
        before = max(done)
        await engine.translate(SHORT)
        sentences = max(done) - before
        await asyncio.gather(*books)
        return sentences

    assert asyncio.run(run()) <= 8


def test_who_stops_listening_frees_the_engine(engine: Engine) -> None:
    async def run() -> None:
        stream = await engine.stream(LONG)
        assert (await anext(stream)).text
        await stream.aclose()  # type: ignore[attr-defined]
        began = time.monotonic()
        while engine.open and time.monotonic() < began + 10:
            await asyncio.sleep(0.01)
        assert not engine.open

    asyncio.run(run())
    assert len(texts(engine, SHORT)[0]) == 2


def test_the_queue_is_bounded(translator: Translator) -> None:
    engine = Engine(translator, most_waiting=2)  # not started: nothing leaves the queue

    async def run() -> None:
        waiting = [asyncio.create_task(engine.translate(SHORT)) for _ in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(OverloadedError):
            await engine.translate(SHORT)
        engine.start()
        assert [len(result) for result in await asyncio.gather(*waiting)] == [2, 2]

    asyncio.run(run())
    engine.stop()


def test_what_takes_too_long_is_given_up(engine: Engine) -> None:
    async def run() -> None:
        with pytest.raises(TooLateError):
            await engine.translate(LONG, deadline=0.01)
        assert len(await engine.translate(SHORT)) == 2

    asyncio.run(run())
    assert not engine.open


def test_stopping_finishes_what_was_accepted(translator: Translator) -> None:
    engine = Engine(translator, most_waiting=8)

    async def run() -> int:
        task = asyncio.create_task(engine.translate(LONG))
        await asyncio.sleep(0.01)
        engine.start()
        await asyncio.to_thread(engine.stop)
        with pytest.raises(OverloadedError):
            await engine.translate(SHORT)
        return len(await task)

    assert asyncio.run(run()) == len(LONG)


def test_a_defect_reaches_those_who_wait_and_nobody_else(
    engine: Engine, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = translator._searcher.search
    broken = [True]

    def sometimes(requests: Any) -> Any:
        if broken.pop() if broken else False:
            raise RuntimeError("a defect")
        return search(requests)

    monkeypatch.setattr(translator._searcher, "search", sometimes)
    with pytest.raises(FailedError, match="the translation failed"):
        texts(engine, SHORT)
    assert len(texts(engine, SHORT)[0]) == 2


def test_a_search_that_fails_takes_no_other_document_with_it(
    engine: Engine, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = translator._searcher.search
    together: list[int] = []

    def limited(requests: Any) -> Any:
        together.append(len(requests))
        if any(len(sentence) > 30 for request in requests for sentence in request.to_come):
            raise FensterError("out of memory in a single search", fix="lower --beam")
        return search(requests)

    monkeypatch.setattr(translator._searcher, "search", limited)
    large = Document.of("", ["lamp " * 60])

    async def run() -> None:
        documents = [large, LONG, SHORT]
        results = await asyncio.gather(*(engine.translate(one) for one in documents), return_exceptions=True)
        assert isinstance(results[0], FailedError) and "lower --beam" in str(results[0])
        assert [len(one) for one in results[1:] if isinstance(one, list)] == [len(LONG), len(SHORT)]

    asyncio.run(run())
    assert max(together) > 1


def test_a_bad_document_is_its_own_problem(engine: Engine) -> None:
    bad = Document("", tuple(segment._replace(register="polite") for segment in SHORT.segments))

    async def run() -> None:
        results = await asyncio.gather(engine.translate(bad), engine.translate(SHORT), return_exceptions=True)
        assert isinstance(results[0], InputError) and not isinstance(results[1], BaseException)

    asyncio.run(run())


def test_calls_run_between_batches_and_may_be_given_up(engine: Engine) -> None:
    async def run() -> None:
        assert await engine.call(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await engine.call(lambda: 1 // 0)
        waiting = asyncio.create_task(engine.call(lambda: time.sleep(0.05)))
        given_up = asyncio.create_task(engine.call(lambda: 8))
        await asyncio.sleep(0.01)
        given_up.cancel()
        await waiting
        assert await engine.call(lambda: 9) == 9 and engine.alive

    asyncio.run(run())


def test_the_thread_survives_whatever_happens(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    raised = []

    def broken(*_: Any) -> Any:
        monkeypatch.undo()
        raised.append(True)
        raise KeyError("a defect")

    monkeypatch.setattr("fenster.decode.pool.DocumentPool.gather", broken)
    assert len(texts(engine, SHORT)[0]) == 2, "the document was still in the queue"
    assert raised and engine.alive
