"""What is protected, and what is not."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fenster.language import load_language
from fenster.language.protect import Protector
from fenster.language.spans import KINDS, SpanFinder

PROTECTED = {
    "Write to anna.mueller@example.com today.": ["anna.mueller@example.com"],
    "Write to o'neil@a-b.io or 'anna@b.de' today.": ["o'neil@a-b.io", "anna@b.de"],
    "See https://www.example.com/path/to/page?query=1.": ["https://www.example.com/path/to/page?query=1"],
    "See (https://en.wikipedia.org/wiki/Window_(computing)).": ["https://en.wikipedia.org/wiki/Window_(computing)"],
    "Visit www.example.com, please.": ["www.example.com"],
    "Name: ____ and Chapter 1 ........ 12": ["____", "........"],
    "Replace @@name@@ here.": ["@@name@@"],
    "Type `ls -la` or ``a ` b``.": ["`ls -la`", "``a ` b``"],
    "Dear {name}, you have %d new %s and ${x}.": ["{name}", "%d", "%s", "${x}"],
    "Hello %(user)s, {{ total }} &amp; $HOME": ["%(user)s", "{{ total }}", "&amp;", "$HOME"],
    'A <b class="x">bold</b> word<br/>.': ['<b class="x">', "</b>", "<br/>"],
    "Ask @anna about #summer.": ["@anna", "#summer"],
    "IBAN DE89 3704 0044 0532 0130 00.": ["DE89 3704 0044 0532 0130 00"],
    "Call +49 30 1234567 or 123-456-7890.": ["+49 30 1234567", "123-456-7890"],
    "See DOI 10.1145/3292500.3330701.": ["10.1145/3292500.3330701"],
    "It needs numpy>=1.24,<2.0 and torch~=2.1.": ["numpy>=1.24,<2.0", "torch~=2.1"],
    "Set learning_rate=0.001, --rate=0.5 and -Da.b=1.5.": ["learning_rate=0.001", "--rate=0.5", "-Da.b=1.5"],
    "Call scale(1.5) or @speed(0.5).": ["scale(1.5)", "@speed(0.5)"],
    "Open /users/:id/edit as text/html.": ["/users/:id/edit", "text/html"],
    "Type git checkout -b feature/x first.": ["-b", "feature/x"],
    "Open " + "x1" * 750 + " now.": ["x1" * 750],
    "Install v2.13.0 or 1.2.3-rc1.": ["v2.13.0", "1.2.3-rc1"],
    "The AB-1234/X and the RX580.": ["AB-1234/X", "RX580"],
    "Open /etc/passwd, ~/a.txt and C:\\Users\\me\\a.txt.": ["/etc/passwd", "~/a.txt", "C:\\Users\\me\\a.txt"],
    "At 9:00 AM PST or 10:00 CEST, i.e. 14:00 UTC+2.": ["PST", "CEST", "UTC+2"],
    "Card 1111 1111 1111 1111, VIN WVWZZZ1JZXW000001.": ["1111 1111 1111 1111", "WVWZZZ1JZXW000001"],
    "The code is THHFY2PG (a)(b).": ["THHFY2PG", "(a)(b)"],
    'He is 5\'10" tall with a 1/4"-20 bolt.': ["5'10\"", '1/4"'],
    "See §§ 5, 7 and 3(b)(ii), also (a)(1) and §§ 6.1.": ["§§ 5", "(a)(1)", "§§ 6.1"],
    "It has SO4^2- and Ca2+.": ["SO4^2-", "Ca2+"],
    "Is a < b and c > d?": ["a", "b", "c", "d"],
    "Under GPL-2.0-only it is free.": ["GPL-2.0-only"],
    "Set $\\alpha = 0.05$, not $5 or $6; $x$ and \\(p < 0.01\\), $$a = 3.14$$.": [
        "$\\alpha = 0.05$",
        "$x$",
        "\\(p < 0.01\\)",
        "$$a = 3.14$$",
    ],
    "Level %d%%, 5%% of $t(common.bye).": ["%d%%", "%%", "$t(common.bye)"],
    ":warning: Do {\\i1}\\*not\\*{\\i0} touch it.": [":warning:", "{\\i1}", "\\*", "\\*", "{\\i0}"],
    "Edit config.yaml in src/fenster/io.": ["config.yaml"],
    "Run git clone git@github.com:user/repo.git.": ["git@github.com:user/repo.git"],
    ":name must have :min letters, __init__ too.": [":name", ":min", "__init__"],
    "As yyyy-MM-dd or DD MMM YYYY, HH:mm; %d %b %Y.": ["yyyy-MM-dd", "DD MMM YYYY, HH:mm", "%d %b %Y"],
    "Due {due, date, medium}, {n, number} of it.": ["{due, date, medium}", "{n, number}"],
    "Our BIC DEUTDEFF, SWIFT: DEUTDEFF500.": ["DEUTDEFF", "DEUTDEFF500"],
    "docker run -it --rm image": ["-it", "--rm"],
    "Give --no-recursion, {--diff|--at-once} or --eof[=END].": ["--no-recursion", "--diff", "--at-once", "--eof"],
    "Run git checkout -- a.txt or npm test -- --watch.": ["--", "a.txt", "--", "--watch"],
    "Use `foo' and then `bar', or the `Widget`s of `a b`.": ["`foo'", "`bar'", "`Widget`", "`a b`"],
    "Answer ^[yY] or ^[nN]o$ to it.": ["^[yY]", "^[nN]o$"],
    "Call foo_bar, getX() and std::sort with --verbose -v.": ["foo_bar", "getX()", "std::sort", "--verbose", "-v"],
}
FREE = [
    "It is -- as you know -- late, and so--not at once--we left.",
    "He said and/or 24/7, didn't he?",
    "A 50 % discount on well-known goods - today!",
    "Press Enter -> a window opens; Home > A guide, HTTP = a protocol.",
    "> I think 3 CT scans agreed2 at 10AM.",
    "Is 3 < 5 and is it? I- I am; A or B, he + she.",
    "Here are 20 of 100 people, the 2nd of 30 with 4x4 wheels.",
    "In 1999, Mr. Smith's wife's e-mail arrived: all good.",
    'Wait... what?! (Yes.) "Quoted" text; more.',
    "The U.S. and the U.K.",
    "#1 is the best & 5 > 3",
    "It cost $5 (not $6), see: this, and 10:30: that.",
    "-What are you doing?",
    "AM or PM: I am A, she is D! MM: 5 mm, 3 dd",
    "Note:this is so; a BIC is a code.",
    "I went home --but he stayed -and I left.",
    "Upload an image/video; check the font/size, age>=18 and sin(1).",
    "Done..... Well..... I don't know.",
]


@pytest.mark.parametrize("text", PROTECTED)
def test_what_is_protected(text: str) -> None:
    assert [text[span.start : span.end] for span in SpanFinder().find(text)] == PROTECTED[text]


@pytest.mark.parametrize("text", FREE)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert SpanFinder().find(text) == []


def test_every_kind_occurs_above() -> None:
    seen = {span.kind for text in [*PROTECTED, "a <!-- note --> b"] for span in SpanFinder().find(text)}
    assert seen == {*KINDS, "long"}


def test_own_patterns_and_terms_come_first() -> None:
    finder = SpanFinder([re.compile(r"ACME-\w+ \w+")], ["Blue Window", "Blue"])
    text = "ACME-12 Pro and Blue Window, Blue, Blues at www.Blue.com"
    assert [text[s.start : s.end] for s in finder.find(text)] == ["ACME-12 Pro", "Blue Window", "Blue", "Blue"]


@given(st.text(alphabet=st.sampled_from("ab1/.@:{}<>`%$#&_-() \\"), max_size=40))
def test_spans_never_overlap(text: str) -> None:
    spans = SpanFinder().find(text)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


UNITS = ["a", "1", "f0", "a.", "a-", "a/", "yy-", "a@", "-D", "&a;", "np(1.5,", "v1.", "~/a"]


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_length(unit: str) -> None:
    """Words of 1,400 characters, nearly the longest that kinds are tried on. Quadratic patterns would take a hundred
    times as long as these seconds."""
    text = "x " + " ".join([(unit * 1400)[:1400]] * 40)
    protector = Protector(load_language("en"), load_language("de"))
    began = time.process_time()
    protector.spans(text)
    assert time.process_time() - began < 10
