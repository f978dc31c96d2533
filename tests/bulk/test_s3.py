"""Shards in a bucket: the real S3 client of fsspec against a server that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fenster.cli import main
from fenster.data.dataset import PreparedData
from tests.helpers.models import make_loaded, write_model
from tests.helpers.shards import contents, documents, write_jsonl, write_parquet

s3fs = pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")
pytestmark = pytest.mark.slow


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
    s3fs.S3FileSystem.clear_instance_cache()
    files = s3fs.S3FileSystem()
    files.mkdir("bucket")
    yield files
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_bucket_gets_the_bytes_that_a_folder_gets(
    bucket: Any, toy: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_model(make_loaded(toy, "window"), tmp_path / "model")
    write_parquet(tmp_path / "in" / "a.parquet", documents(12))
    write_jsonl(tmp_path / "in" / "sub" / "b.jsonl.gz", [*documents(5), {"id": "bad", "text": 5}])
    (tmp_path / "in" / "readme.txt").write_text("Here is the lamp.\n")
    bucket.put(str(tmp_path / "in"), "bucket/in", recursive=True)
    options = ["-m", str(model), "--beam", "1", "--threads", "1", "--device", "cpu", "--part-size", "300"]
    main(["translate", str(tmp_path / "in"), "-o", str(tmp_path / "out"), *options])
    here = {name: data for name, data in contents(tmp_path / "out").items() if name != "readme.txt"}
    for name, more in (("one", []), ("two", ["--workers", "2"])):
        main(["translate", "s3://bucket/in", "-o", f"s3://bucket/{name}", *options, *more])
        made = {path.removeprefix(f"bucket/{name}/"): bucket.cat(path) for path in bucket.find(f"bucket/{name}")}
        work = [path for path in made if path.startswith(".fenster/")]
        assert len(work) == 1, "the manifest, in one segment"
        assert {path: data for path, data in made.items() if path not in work} == here
    capsys.readouterr()
    main(["translate", "s3://bucket/in", "-o", "s3://bucket/two", *options])
    assert "2 unchanged" in capsys.readouterr().out
    for missing in ("s3://bucket/nothing/*.parquet", "s3://bucket/in/readme.txt", "nowhere://x/a.parquet"):
        with pytest.raises(SystemExit) as stopped:
            main(["translate", missing, "-o", "s3://bucket/three", *options])
        assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "no such file" in said and "nothing to translate" in said and "nowhere" in said
