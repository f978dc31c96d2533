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
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

_BATCH = 1024  # rows in memory at a time


class ParquetShards(ShardFormat):
    suffixes = (".parquet", ".pq")

    def recognises(self, name: str) -> bool:
        return name.lower().endswith(self.suffixes)

    def extents(self, name: str, size: int) -> list[Extent]:
        with _opened(name, self.column) as file:
            groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
            wanted = set(self._documents(file))
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
                    yield from islice(self._rows(file, group, start), max(0, first - start), first + count - start)
                start += rows

    def _documents(self, file: ParquetFile) -> list[str]:
        """The columns that may hold a document: a `segments` that is no list of texts is not one."""
        import pyarrow as pa

        schema = file.schema_arrow
        names = [self.column] if self.column in schema.names else []
        if SEGMENTS in schema.names:
            kind = schema.field(SEGMENTS).type
            is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
            if is_list and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
                names.append(SEGMENTS)
        return names

    def _rows(self, file: ParquetFile, group: int, start: int) -> Iterator[Row | FaultyRow]:
        """With the columns that are read."""
        others = [name for name in (ID, REGISTER) if name in file.schema_arrow.names]
        for batch in file.iter_batches(_BATCH, row_groups=[group], columns=[*self._documents(file), *others]):
            try:
                yield from (Row(start + number, record) for number, record in enumerate(batch.to_pylist()))
            except UnicodeDecodeError:
                yield from (_row(start + number, batch.slice(number, 1)) for number in range(len(batch)))
            start += len(batch)

    def write(self, name: str, stream: IO[bytes], translations: Iterator[Mapping[str, Any] | None]) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        with _opened(name, self.column) as file:
            schema, is_list = file.schema_arrow, SEGMENTS in self._documents(file)
            kinds = {TRANSLATION: pa.list_(pa.string()) if is_list else pa.string(), WARNINGS: pa.list_(pa.string())}
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
                        values = [None if one is None else _as_kind(one[column], is_list) for one in added]
                        table = table.append_column(pa.field(column, kind), pa.array(values, kind))
                    kept_rows = [one is not None for one in added]
                    writer.write_table(table if all(kept_rows) else table.filter(pa.array(kept_rows)))


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
        if len(set(names)) < len(names):
            raise InputError("several columns have the same name", path=name, expected="a name for each column")
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


def _row(number: int, single: RecordBatch) -> Row | FaultyRow:
    try:
        return Row(number, single.to_pylist()[0])
    except UnicodeDecodeError as error:
        return FaultyRow(number, f"holds text that is not UTF-8 ({error})", "")


def _as_kind(value: str | list[str], is_list: bool) -> str | list[str]:
    """A text in a shard of lists is a list of one."""
    return [value] if is_list and isinstance(value, str) else value


def _columns(group: Any) -> Iterator[Any]:
    return (group.column(number) for number in range(group.num_columns))


def _top(column: Any) -> str:
    """`segments.list.element` -> `segments`"""
    return str(column.path_in_schema).split(".")[0]
