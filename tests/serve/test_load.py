"""`fenster bench serve` measures what it says."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from fenster.bench.serve import documents, measure
from fenster.errors import FensterError
from tests.serve.conftest import Start


def test_clients_share_the_documents(start: Start) -> None:
    port = urlsplit(start()).port
    assert port is not None
    given = documents(6)
    assert given == documents(6) and {len(one) for one in given} <= set(range(1, 9))
    together, alone = measure(port, 3, given), measure(port, 1, given, by_sentence=True)
    assert len(together.waits) == len(alone.waits) == together.documents == 6
    assert together.rate > 0 and together.quantile(0.5) <= together.quantile(0.95)
    metrics = start.app.state.service.metrics.text().decode()  # type: ignore[attr-defined]
    asked = 6 + sum(map(len, given))
    assert f'fenster_requests_total{{path="/translate",status="200"}} {asked}.0' in metrics


def test_an_error_ends_the_measurement(start: Start) -> None:
    port = urlsplit(start(most_characters=10)).port
    assert port is not None
    with pytest.raises(FensterError, match="status 413"):
        measure(port, 2, documents(4))
