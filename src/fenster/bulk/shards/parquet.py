"""Parquet: one document per row; columns of any types are kept as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from fenster.bulk.shards.base import (
    ID,
    REGISTER,
    SEGMENTS,
    TRANSLATION,
    WARNINGS,
    Extent,
    FaultyRow,
    Row,
    ShardFormat,
    even_extents,
)
from fenster.errors import FensterError, InputError
from fenster.io import storage

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_BATCH = 1024  # rows in memory at a time


class ParquetShards(ShardFormat):
    def recognises(self, name: str) -> bool:
        return name.lower().endswith((".parquet", ".pq"))

    def extents(self, name: str, size: int) -> list[Extent]:
        with _opened(name, self.column) as file:
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            wanted = {self.column, SEGMENTS}
            per_row = (
                (sum(c.total_uncompressed_size for c in _columns(group) if _top(c) in wanted), group.num_rows)
                for group in groups
            )
            return even_extents((max(1, total // rows) for total, rows in per_row for _ in range(rows)), size)

    def rows(self, name: str, first: int, count: int) -> Iterator[Row | FaultyRow]:
        with _opened(name, self.column) as file:
            start = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if start < first + count and first < start + rows:
                    numbered = enumerate(self._records(file, group), start=start)
                    for number, record in islice(numbered, max(0, first - start), first + count - start):
                        yield Row(number, record)
                start += rows

    def _records(self, file: ParquetFile, group: int) -> Iterator[dict[str, Any]]:
        """Of the columns that are read."""
        wanted = [name for name in (self.column, SEGMENTS, ID, REGISTER) if name in file.schema_arrow.names]
        for batch in file.iter_batches(_BATCH, row_groups=[group], columns=wanted):
            yield from batch.to_pylist()

    def write(self, name: str, stream: IO[bytes], translations: Iterator[Mapping[str, Any] | None]) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        with _opened(name, self.column) as file:
            schema = file.schema_arrow
            is_text = self.column in schema.names and SEGMENTS not in schema.names
            kinds = {TRANSLATION: pa.string() if is_text else pa.list_(pa.string()), WARNINGS: pa.list_(pa.string())}
            for column in [column for column in kinds if column in schema.names]:
                schema = schema.remove(schema.get_field_index(column))
            kept = schema.names
            for column, kind in kinds.items():
                schema = schema.append(pa.field(column, kind))
            with ParquetWriter(stream, schema, compression="zstd") as writer:
                for batch in file.iter_batches(_BATCH):
                    added = list(islice(translations, len(batch)))
                    table = pa.Table.from_batches([batch]).select(kept)
                    for column, kind in kinds.items():
                        values = [None if one is None else one[column] for one in added]
                        table = table.append_column(pa.field(column, kind), pa.array(values, kind))
                    writer.write_table(table.filter(pa.array([one is not None for one in added])))


@contextmanager
def _opened(name: str, column: str) -> Iterator[ParquetFile]:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise FensterError("Parquet needs pyarrow", path=name, fix="pip install 'fenster[parquet]'") from None
    with storage.reading(name) as stream:
        try:
            file = ParquetFile(stream)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"not a Parquet file ({error})", path=name, fix="copy or download it again") from None
        names = file.schema_arrow.names
        if column not in names and SEGMENTS not in names:
            raise InputError(
                "has no column of documents",
                path=name,
                expected=f"`{column}`, or `{SEGMENTS}` (a list of sentences); it has {', '.join(names)}",
                fix="name the column of texts with --columns",
            )
        try:
            yield file
        except pa.ArrowException as error:
            raise InputError(f"is damaged ({error})", path=name, fix="copy or download it again") from None


def _columns(group: Any) -> Iterator[Any]:
    return (group.column(number) for number in range(group.num_columns))


def _top(column: Any) -> str:
    """`segments.list.element` -> `segments`"""
    return str(column.path_in_schema).split(".")[0]
