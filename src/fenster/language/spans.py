"""Text that must come out as it went in: addresses, paths, code, marks that programs fill in, numbers that are names.

A kind of span is one line in KINDS. Where two overlap, the one that starts first counts, then the kind listed first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_SUFFIXES = (
    "py|txt|md|rst|html?|xml|json|ya?ml|toml|ini|cfg|conf|csv|tsv|log|sh|bat|exe|dll|so|zip|gz|xz|tar|tgz|rar|7z|deb|"
    "rpm|iso|img|docx?|xlsx?|pptx?|odt|ods|odp|pdf|epub|tex|png|jpe?g|gif|svg|ico|webp|bmp|tiff?|mp3|mp4|mkv|avi|wav|"
    "ogg|flac|srt|vtt|ass|po|mo|xliff|c|cc|cpp|h|hpp|java|js|ts|css|scss|php|rb|go|rs|sql|db|ttf|otf|woff2?|apk|dmg|"
    "jar|ipynb|tmx|tbx|bak|tmp|lock|env|pem|crt|key"
)
# Behind a double dash these are words of a sentence, and no option.
_FUNCTION_WORDS = (
    "but|and|or|nor|the|a|an|he|she|it|they|we|i|you|not|no|yes|so|as|if|in|on|at|to|for|of|with|who|which|that|this|"
    "these|those|then|there|when|where|while|what|how|why|well|oh|my|his|her|their|our|your|is|was|are|were|by|from|like"
)
_DATE_PART = "(?:y{2,4}|Y{2,4}|M{1,4}|D{1,4}|d{1,4}|E{1,4}|HH?|hh?|mm|ss|SSS|a|A|Z)"
_SURE_DATE_PART = "yyyy|YYYY|MM|DD|dd|HH|hh"
_DATE_LINK = "[-/., :T]{1,2}"
_END = r"(?<![.,;:!?'\"])"  # a stop behind a span belongs to the sentence
_MIME_SUBTYPES = (
    r"plain|html|css|csv|markdown|json|xml|pdf|zip|gzip|javascript|octet-stream|form-data|mixed|alternative|png|jpe?g|gif|"
    r"webp|svg\+xml|mp[34]|mpeg|ogg|wav|webm|woff2?|ttf|otf|[\w.-]+\+(?:json|xml|zip)|(?:x-|vnd\.)[\w.+-]*\w"
)
_VERSION = r"(?:[=~!]=|[<>]=?)\d(?:[\w.*]*[\w*])?"
_FUNCTIONS = r"[A-Za-z]\w*[._]\w[\w.]*|rgba?|hsla?|scale|rotate|translate"  # sin(1.5) is mathematics
_SURE_VERSION = r"(?:[=~!]=\d(?:[\w.*]*[\w*])?|[<>]=?\d+\.[\w.*]*[\w*])"
_PART_OF_URL = r"[^\s<>\"`|\\^{}]+"


def _any(*patterns: str) -> str:
    return "|".join(patterns)


KINDS: dict[str, str] = {
    "math": _any(
        r"\$\$[^$\n]+\$\$",
        r"\\\([^\n]+?\\\)",
        r"\\\[[^\n]+?\\\]",
        r"(?<![\w$\\])\$(?=[^\s$])(?=[^$\n]*(?:\\[A-Za-z]|[=^_<>]))[^$\n]*[^\s$]\$(?![\w$])",
        r"(?<![\w$\\])\$[A-Za-z]\$(?![\w$])",
    ),
    "code": _any(
        r"``[^`\n](?:[^\n]*?[^`\n])?``",
        r"`[^`'\s]+'(?!\w)",  # GNU's quotes
        r"`[^`\n]*[^`\s]`(?!(?!s\b)\w)",
    ),
    "comment": r"<!--.*?-->",
    "tag": r"</?[A-Za-z][\w:.-]*(?:\s+[^<>]*)?/?>",
    "rule": _any(  # leaders, and blanks to fill in
        r"(?<![\w.])\.{4,}(?![\w.])",
        r"(?<![\w=*~-])(?:-{4,}|={3,}|\*{3,}|~{3,})(?![\w=*~-])",
        r"_{3,}",
    ),
    "url": _any(
        r"\b(?:https?|ftp|file|ssh|git|mailto|tel|data|ws|wss|s3)://?" + _PART_OF_URL + _END,
        r"\bwww\." + _PART_OF_URL + _END,
    ),
    "doi": r"\b10\.\d{4,9}/[\w.;()/:<>-]*[\w)]",
    "remote": r"[\w.+-]+@[\w.-]+:[\w.~-]+(?:/[\w.~-]+)+" + _END,  # git@host:owner/name.git
    "email": r"(?<![\w.+%-])(?:\w+['’](?=[\w.+%-]+@))?[\w.+%-]*\w@[\w-]+(?:\.[\w-]+)+",
    "override": r"\{\\[^{}]*\}",  # of subtitles: {\i1}
    "escape": r"\\[*_#~|\[\]()<>!.+-]|\\n(?=[A-Z])",
    "shortcode": r"(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])",
    "symbol": r"(?<![^\s\"'(\[]):[a-z][a-z_]{2,}(?![\w:])",  # of Ruby and Laravel
    "pattern": _any(
        r"\^\[[^\]\s]*\]\S*",  # a regular expression: ^[yY]
        r"(?<![\w%])%-?[A-Za-z](?:[ ,/:.T-]{0,2}%-?[A-Za-z])+(?!\w)",  # of strftime
        rf"(?<!\w)(?:{_DATE_PART}{_DATE_LINK}){{0,8}}(?:{_SURE_DATE_PART})(?:{_DATE_LINK}{_DATE_PART}){{1,8}}(?!\w)",
        rf"(?<!\w)(?:{_DATE_PART}{_DATE_LINK}){{1,8}}(?:{_SURE_DATE_PART})(?!\w)",
    ),
    "template": _any(
        r"\$t\([^()\n]*\)",  # of i18next
        r"\$\{[^{}\s]*\}",
        r"@@\w+@@",
        r"\{\{[^{}]*\}\}",
        r"\{%[^{}]*%\}",
        r"\{[\w.:!,#+-]*\}",
        r"\{\s*\w+\s*,\s*(?:number|date|time|ordinal|spellout|duration|list)\b[^{}]*\}",  # of ICU
        r"%\([\w.]+\)[#0 +-]*\d*(?:\.\d+)?[a-zA-Z]",
        r"(?<![\w%])%(?:\d+\$)?[#0+-]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[sdiufgeExXcpoqvn@](?![A-Za-z])(?:%%)?",
        r"%%",
        r"%[A-Z_]{2,}%",
        r"\$[A-Z_][A-Z0-9_]+",
        r"&\#?\w+;",
    ),
    "path": _any(
        r"\b[A-Za-z]:\\(?:[\w .$@()+-]+\\)*[\w.$@()+-]*\w",
        r"\\\\[\w.$-]+(?:\\[\w.$@+-]+)+",
        r"(?<![\w/.:<])(?:~|\.{1,2})?/(?:[\w.@+{}$*-]+/(?::(?=\w))?)*[\w.@+{}$*-]*\w/?",
        rf"\b(?:application|audio|font|image|multipart|text|video)/(?:{_MIME_SUBTYPES})(?![\w/-])",
        r"(?:(?<=checkout -b )|(?<=switch -c )|(?<=branch -[dDmM] ))[\w.-]+(?:/[\w.-]+)+",
        rf"(?<![\w/.@-])(?:[\w.@+-]+/)+[\w.@+-]*\.(?:{_SUFFIXES})\b",
        rf"(?<![\w/.@-])\.?[\w+-]+(?:\.[\w+-]+)*\.(?:{_SUFFIXES})\b(?!\.\w)",
    ),
    "mention": r"(?<![\w@/.])@[A-Za-z_][\w.-]*\w(?:\([\d., ]*\))?",
    "hashtag": r"(?<![\w&/#])#[A-Za-z_]\w*",
    "iban": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b",
    "option": _any(
        rf"(?<![\w-])--(?!(?:{_FUNCTION_WORDS})\b(?!-))[a-z][a-z0-9]*(?:-[a-z0-9]+)*\b(?:=[\w./,:+-]*\w)?"
        r"(?=[=\s.,;:)\]\[|}'\"’”]|$)",
        r"(?<![\w-])-D[A-Za-z][\w.-]*(?:=[\w./:-]*\w)?",
        rf"(?<=\s)--(?=\s+(?:--?[A-Za-z]|[\w./~*-]*\.(?:{_SUFFIXES})\b))",  # git checkout -- file.txt
        r"(?<=\s)-(?![AIO]\b)[A-Za-z]\b(?=[=\s.,;:)\]]|$)",
        r"(?<=\s)-[a-z]{2,3}\b(?=\s--?[a-z])",
    ),
    "identifier": _any(
        r"\b[A-Za-z]\w*(?:_\w+)+\b(?:=[\w.+-]*\w)?",
        rf"(?<![\w.])[a-z][\w-]+{_SURE_VERSION}(?:, ?{_VERSION})*",  # numpy>=1.24,<2.0
        rf"(?<![\w@.])(?:{_FUNCTIONS})\((?=[^()]*\d\.\d)[\[\]\d\s.,+-]+\)",  # scale(1.5)
        r"\b[a-z]+(?:[A-Z][a-z0-9]+)+\b(?:\(\))?",
        r"\b[\w.]+\(\)",
        r"\b[A-Za-z]\w*(?:::\w+)+",
        r"\b0x[0-9A-Fa-f]+\b",
        r"(?<!\w)__\w+__(?!\w)",
    ),
    "telephone": _any(
        r"(?<![\w+])\+\d{1,3}[ ./-]?(?:\(\d+\)[ ./-]?)?\d[\d ./-]{4,}\d(?!\w)",
        r"(?<![\w-])\(0?\d{2,5}\)[ /-]?\d[\d /-]{3,}\d(?!\w)",
        r"(?<![\w/.-])0\d{1,4}[ /-]\d{3,}(?:[ -]\d+)*(?!\w)",
        r"(?<![\w-])\d{3}[-. ]\d{3}[-. ]\d{4}(?!\w)",
    ),
    "version": _any(
        r"\b[vV]\d+(?:\.\d+)*(?:[-+.]?[a-z]+\d*)?\b",
        r"(?<![\w.,])\d+(?:\.\d+){2,}(?:[-+.]?[a-z]+[\w.]*)?\b(?!\.\d)",
    ),
    "zone": r"(?:(?<=\d )|(?<=[apAP][mM] )|(?<=\.[mM]\. ))(?:UTC|GMT|BST|CES?T|EES?T|WES?T|[ECMP][SD]T|AK[SD]T|HST|"
    r"JST|KST|IST|AE[SD]T|NZ[SD]T)(?:[+−-]\d{1,2}(?::\d{2})?)?(?!\w)"
    r"|(?:(?<=:\d\d )|(?<=[apAP][mM] )|(?<=\.[mM]\. ))[ECMP]T(?!\w)",
    "card": r"(?<![\w-])\d{4}(?: \d{4}){2,}(?!\w)",
    "length": _any(r"(?<![\w'’′])\d{1,2}['’′] ?\d{1,2}(?:\"|″|''|(?!\w))", r"(?<![\w/])\d+(?:/\d+)?\"(?=-\d)"),
    "paragraph": _any(r"§§ ?\d+(?:\.\d+)*\w?", r"(?<!\w)\([a-z0-9]{1,2}\)(?:\([a-z0-9]{1,4}\))+"),
    "ion": r"(?<![\w-])(?:[A-Z][a-z]?\d*)+(?:\^\d*[+−-]|\d[+−]|\+)(?=[\s.,;)]|$)",
    "variable": _any(
        r"(?<![\w'’.])[A-Za-z](?= (?:[<>≤≥≠=]=?|&&|\|\|) (?:[A-Za-z]|[\d.]+)(?!\w))",
        r"(?<=\b[A-Za-z\d] [<>≤≥≠=] )[A-Za-z](?![\w'’]|\.\w)",
    ),
    "bank": r"(?:(?<=BIC )|(?<=BIC: )|(?<=SWIFT )|(?<=SWIFT: ))[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?(?!\w)",
    "licence": r"\b[A-Z]{2,}-\d+(?:\.\d+)*-(?:only|or-later)\b",
    "part": _any(
        r"(?<![\w-])(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{6,}(?![\w-])",
        r"(?<![\w$€£¥-])(?!\d+\.\d+[KMB] [a-z]+s\b|[AP]M-\d)"
        r"(?=[A-Z0-9/_.-]*[A-Z])(?=[A-Z0-9/_.-]*\d)[A-Z0-9]+(?:[-/_.][A-Z0-9]+)+(?![\w-])",
        r"(?<![\w-])(?!\d+(?:[AP]M|EUR|USD|GBP|CHF)\b)(?:[A-Z]+\d{2,}[A-Z0-9]*|\d{2,}[A-Z]{2,}[A-Z0-9]*)(?![\w-])",
    ),
}
"""Regular expressions by kind."""
MARKS = frozenset({"mark", "comment", "tag", "override", "escape", "rule"})
"""Kinds that are no words, and what a file format marks."""

# Every kind needs one of these.
_POSSIBLE = re.compile(
    r"[\d@/\\`<>=≤≥≠{$%#&_+^-]|:[a-z]|BIC|SWIFT|(?:yyyy|YYYY|MM|DD|dd|HH|hh)[., :T]|\(\)|\)\(|\|\||::|www\.|"
    r"[a-z][A-Z]|\.\w|\.{4}|\*{3}|~{3}"
)
# No word, and no place for the regular expressions of kinds, some of which take quadratic time.
_LONG = re.compile(r"\S{1500,}")
_NAMED = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()))


class Span(NamedTuple):
    """`text[start:end]` is protected."""

    start: int
    end: int
    kind: str


class SpanFinder:
    """Finds protected spans. `patterns` and `terms` are the user's own, and come before all kinds."""

    def __init__(self, patterns: Iterable[re.Pattern[str]] = (), terms: Sequence[str] = ()) -> None:
        self._own = list(patterns)
        if terms:
            longest_first = sorted(terms, key=len, reverse=True)
            self._own.append(re.compile("|".join(_whole_word(term) for term in longest_first)))

    def find(self, text: str) -> list[Span]:
        """Spans in order, none overlapping another."""
        own = [
            Span(*match.span(), "own") for pattern in self._own for match in pattern.finditer(text) if match.group()
        ]
        kinds = []
        if _POSSIBLE.search(text):  # most sentences have nothing to protect, and this is quick
            at = 0
            for start, end in [*(match.span() for match in _LONG.finditer(text)), (len(text), len(text))]:
                kinds += [Span(*match.span(), match.lastgroup or "") for match in _NAMED.finditer(text, at, start)]
                kinds += [Span(start, end, "long")] if start < end else []
                at = end
        return without_overlaps([*own, *(span._replace(end=_balanced(text, span)) for span in kinds)])


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """In order of their starts; of spans that overlap, the one listed first."""
    kept: list[Span] = []  # sorted
    for span in spans:
        at = bisect_left(kept, span)
        after = kept[at : at + 1]
        if all(other.end <= span.start for other in kept[max(0, at - 1) : at]) and all(
            span.end <= other.start for other in after
        ):
            kept.insert(at, span)
    return kept


def _balanced(text: str, span: Span) -> int:
    """The end of a span without closing brackets that its sentence opened."""
    end = span.end
    if span.kind == "url":
        for closing, opening in (")(", "]["):
            while text[end - 1] == closing and text.count(closing, span.start, end) > text.count(
                opening, span.start, end
            ):
                end -= 1
                while text[end - 1] in ".,;:!?":
                    end -= 1
    return end


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of some words; none matches nothing."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"


def _whole_word(term: str) -> str:
    """A term as a regular expression; not inside a longer word."""
    before = r"(?<!\w)" if term[:1].isalnum() else ""
    after = r"(?!\w)" if term[-1:].isalnum() else ""
    return before + re.escape(term) + after
