"""Catalogues of texts in JSON (i18next, ARB) and YAML (Rails): every value that is text is translated, in one
context. Keys, numbers, comments and layout stay as they are, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import yaml

from fenster.decode.files.base import DocumentFormat, FileOptions
from fenster.decode.files.icu import is_broken
from fenster.decode.files.line_index import LineIndex
from fenster.decode.files.ranges import RangesDocument, TextRange, whole_text
from fenster.errors import InputError, counted
from fenster.io.files import FileSource

_BEFORE_TEXT = re.compile(r"(?:[&!]\S*\s+)*")  # anchors and tags
_BLOCK_HEADER = re.compile(r"(?:[&!]\S*\s+)*[|>][^\n]*\n")
_ARGUMENT = re.compile(r"\$\d(?![\d.,]*\d)")  # $1, of browser extensions and MediaWiki
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


class JsonFormat(DocumentFormat):
    suffixes = (".json", ".arb")
    about = "catalogues of texts in JSON: every text that is a value"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> RangesDocument:
        text = whole_text(source)
        try:
            json.loads(text) if text.strip() else None
        except ValueError as error:
            line = getattr(error, "lineno", None)
            fix = "check it with python -m json.tool"
            raise InputError(f"not JSON ({error})", path=source.path, line=line, fix=fix) from None
        except RecursionError:
            raise InputError("is nested too deeply", path=source.path, expected="a catalogue of texts") from None
        index = LineIndex(text)
        ascii_only = text.isascii() and "\\u" in text
        ranges = []
        broken = 0
        for start, end in _json_values(text):
            value = json.loads(text[start:end])
            broken += is_broken(value)
            line = index.line(start)

            def written(new: str) -> str:
                return json.dumps(new, ensure_ascii=ascii_only)

            ranges.append(TextRange.of(start, end, value, line, options.language, written, arguments=_ARGUMENT))
        return RangesDocument(text, tuple(one for one in ranges if one is not None), source.bom, (), _remarks(broken))


def _remarks(broken: int) -> list[str]:
    if not broken:
        return []
    return [f"{counted(broken, 'message')} left unchanged, since plurals or choices could not be parsed"]


def _json_values(text: str) -> Iterator[tuple[int, int]]:
    """Where strings are that are values; not below a key that begins with @, which is about another (ARB)."""
    inside: list[str] = []
    skipped: int | None = None  # the depth below which everything is skipped
    key: re.Match[str] | None = None
    expects_key = False
    for token in _TOKEN.finditer(text):
        sign = token.group()
        if sign in "{[":
            if key is not None and key.group().startswith('"@') and skipped is None:
                skipped = len(inside)
            inside.append(sign)
            expects_key, key = sign == "{", None
        elif sign in "}]":
            inside.pop()
            skipped = None if skipped is not None and len(inside) <= skipped else skipped
            expects_key, key = False, None
        elif sign == ",":
            expects_key, key = bool(inside) and inside[-1] == "{", None
        elif sign == ":":
            expects_key = False
        elif expects_key:
            key = token
        elif skipped is None and not (key is not None and key.group().startswith('"@')):
            yield token.span()


class YamlFormat(DocumentFormat):
    suffixes = (".yaml", ".yml")
    about = "catalogues of texts in YAML: every text that is a value"
    writes_file = True

    def parse(self, source: FileSource, options: FileOptions) -> RangesDocument:
        text = whole_text(source)
        try:
            roots = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        except (yaml.YAMLError, OverflowError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or str(error)
            raise InputError(
                f"not YAML ({problem})", path=source.path, line=None if mark is None else mark.line + 1
            ) from None
        except RecursionError:
            raise InputError("is nested too deeply", path=source.path, expected="a catalogue of texts") from None
        ranges: list[TextRange] = []
        further: list[tuple[int, int, str]] = []
        seen: set[int] = set()
        broken = 0
        for root in roots:
            if isinstance(root, yaml.MappingNode) and len(root.value) == 1:
                key = root.value[0][0]
                start, end = key.start_mark.index, key.end_mark.index
                if key.value == options.language:  # Rails: the language is the root
                    quoted = text[start:end][-1] in "\"'"
                    at = start + text[start:end].rindex(key.value)
                    plain = quoted or yaml.safe_load(options.target) == options.target
                    named = options.target if plain else json.dumps(options.target)
                    further.append((at, at + len(key.value), named))
            for node in _yaml_values(root, seen):
                ranges += _yaml_ranges(node, text, options)
                broken += is_broken(node.value)
        ranges.sort(key=lambda one: one.start)
        return RangesDocument(text, tuple(ranges), source.bom, tuple(further), _remarks(broken))


def _yaml_values(node: yaml.Node | None, seen: set[int]) -> Iterator[yaml.ScalarNode]:
    """Values that are text, each once, whatever refers to it."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _yaml_values(value, seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _yaml_values(value, seen)
    elif isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
        yield node


def _yaml_ranges(node: yaml.ScalarNode, text: str, options: FileOptions) -> list[TextRange]:
    start, end, line = node.start_mark.index, node.end_mark.index, node.start_mark.line + 1
    if node.style not in ("|", ">"):
        start = _BEFORE_TEXT.match(text, start).end()  # type: ignore[union-attr]  # it may be empty
        quote = text[start : start + 1]
        spelling = _yaml_spelling(quote)
        one = TextRange.of(start, end, node.value, line, options.language, spelling, arguments=_ARGUMENT)
        return [one] if one is not None else []
    header = _BLOCK_HEADER.match(text, start)
    made: list[TextRange] = []
    if header is None:
        return made
    lines = [match for match in re.compile(r"[^\n]+").finditer(text, header.end(), end) if match.group().strip()]
    margins = [len(match.group()) - len(match.group().lstrip()) for match in lines]
    # Each line in its place; in a folded block neighbouring lines of the usual margin are one paragraph.
    groups: list[list[int]] = []
    for number, match in enumerate(lines):
        folded = node.style == ">" and margins[number] == min(margins)
        beside = number and lines[number - 1].end() + 1 == match.start() and margins[number - 1] == margins[number]
        if folded and beside:
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        first, last = lines[group[0]], lines[group[-1]]
        at = first.start() + margins[group[0]]
        words = " ".join(lines[number].group().strip() for number in group)
        here = line + text.count("\n", start, at)
        one = TextRange.of(at, last.end(), words, here, options.language, lambda new: new, arguments=_ARGUMENT)
        made += [one] if one is not None else []
    return made


def _yaml_spelling(quote: str) -> Callable[[str], str]:
    def written(new: str) -> str:
        if quote == "'" and "\n" not in new:
            return "'" + new.replace("'", "''") + "'"
        if quote != '"' and yaml.safe_load(f"[{{k: {new}}}]" if _is_plain(new) else "''") == [{"k": new}]:
            return new
        return json.dumps(new, ensure_ascii=False)

    return written


def _is_plain(text: str) -> bool:
    """True if a text may stand without quotes."""
    return re.fullmatch(r"[^\W\d_][^:#\n\[\]{},&*!|>'\"%@`?\\]*", text) is not None and text == text.strip()
