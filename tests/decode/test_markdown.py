"""Markdown: only the words change, and inline markup moves with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fenster.data.dataset import PreparedData
from fenster.decode.config import DecodeConfig
from fenster.decode.files import FileOptions
from fenster.decode.files.translate import translate_parsed
from fenster.decode.mark_placement import Words, insert_marks
from fenster.decode.markup import Enclosed, tag_marks, without_pairs
from fenster.decode.result import Translated
from fenster.decode.translator import Translator
from fenster.document import Mark
from tests.helpers.files import louder, parse, render
from tests.helpers.models import make_loaded

TEXT = """---
title: Do not touch
---
# The **old** house

A paragraph with [a link](https://example.com/a_b "A title") and *emphasis*. It runs
over **two** lines and has `code` in it.

> A quotation that is wrapped
> over two lines, see ![a picture](dog.png).

- First item
- [ ] A task with ~~wrong~~ right text
  - Nested item

| Name | Price |
|------|------:|
| The red car | 1,200.50 |
| A *big* dog | 50% |

```python
print("not translated")
```

Line one  \nline two with <b>html</b> and \\*stars\\* &amp; more.

[ref]: https://example.com
See [the manual][ref] or <https://example.com>.
"""


def test_what_is_translated() -> None:
    assert [one.text for one in parse(TEXT, "a.md").segments] == [
        "The **old** house",
        'A paragraph with [a link](https://example.com/a_b "A title") and *emphasis*.',
        "It runs over **two** lines and has `code` in it.",
        "A quotation that is wrapped over two lines, see ![a picture](dog.png).",
        "First item",
        "A task with ~~wrong~~ right text",
        "Nested item",
        "Name",
        "Price",
        "The red car",
        "1,200.50",
        "A *big* dog",
        "50%",
        "Line one",
        "line two with <b>html</b> and \\*stars\\* &amp; more.",
        "See [the manual][ref] or <https://example.com>.",
    ]
    assert parse(TEXT, "a.md").remarks() == []


@pytest.mark.timeout(20)  # a regular expression needed twice the time for each further level
def test_quotations_in_quotations_take_no_longer() -> None:
    assert [one.text for one in parse("> " * 80 + "Hello there.\n", "a.md").segments] == ["Hello there."]
    assert [one.text for one in parse("> > [!NOTE] A title\n> > Text.\n", "a.md").segments][-1] == "Text."


def test_untranslated_text_comes_back_as_it_was() -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip("\n"), "", "\n", "---\n", "a", "* * *\n"):
        assert render(parse(text, "a.md"), lambda words: words) == text


def test_marks_are_where_the_markup_is() -> None:
    for segment in parse(TEXT, "a.md").segments:
        for mark in segment.marks:
            literal = segment.text[mark.start : mark.end]
            assert not any(character.isalpha() for character in literal.split("(")[0]) or literal.startswith(
                ("`", "<", "&", "][")
            ), literal
        assert len([m for m in segment.marks if m.opens]) == len([m for m in segment.marks if m.pair and not m.opens])


@given(st.text(alphabet=st.sampled_from("ab *_`[]()!<>#-|\n\\&;~:."), max_size=60))
def test_any_text_comes_back(text: str) -> None:
    assert render(parse(text, "a.md"), lambda words: words).replace("\n", "").replace(" ", "") == text.replace(
        "\n", ""
    ).replace(" ", "")


def test_long_paragraphs_are_wrapped_with_their_prefix() -> None:
    made = render(parse("> one two\n> three four\n", "a.md"), lambda _: "wort " * 30 + "ende")
    assert all(line.startswith("> ") for line in made.splitlines()) and max(map(len, made.splitlines())) < 60


@pytest.mark.parametrize("kind", ["window", "concat-2"])
def test_random_weights_keep_the_structure(toy: PreparedData, kind: str, tmp_path: Path) -> None:
    translator = Translator(
        make_loaded(toy, kind), DecodeConfig(beam=1, length_ratio=1.0, length_extra=2, guards=False)
    )
    parsed = parse(TEXT, "a.md")
    translate_parsed(translator, parsed, tmp_path / "a.de.md", FileOptions())
    made = (tmp_path / "a.de.md").read_text(encoding="utf-8")

    def shape(text: str) -> list[str]:
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
        return [token.type for token in tokens if token.type != "inline"]

    assert shape(made) == shape(TEXT)
    for literal in (
        '](https://example.com/a_b "A title")',
        "](dog.png)",
        "[ ] ",
        "`code`",
        "<b>",
        "</b>",
        "&amp;",
        "][ref]",
    ):
        assert made.count(literal) == TEXT.count(literal), literal
    assert made.count("~~") == 2 and made.count("![") == 1


def test_pairs_are_taken_out() -> None:
    text = "A [**b**](u) c `x`"
    marks = [Mark(2, 3, 1, True), Mark(3, 5, 2, True), Mark(6, 8, 2), Mark(8, 12, 1), Mark(15, 18)]
    bare, enclosed, singles = without_pairs(text, marks)
    assert bare == "A b c `x`" and singles == [(6, 9)]
    assert enclosed == [Enclosed(2, 3, "[", "](u)"), Enclosed(2, 3, "**", "**")]


@pytest.mark.parametrize(
    ("text", "bare", "single"),
    [
        ("Read <a href='u'>📖</a>.", "Read <a href='u'>📖</a>.", "<a href='u'>📖</a>"),
        ("Now <b><i>!</i></b> go", "Now <b><i>!</i></b> go", "<b><i>!</i></b>"),
        ("A proposal<a>1</a> here", "A proposal<a>1</a> here", "<a>1</a>"),
        ("<b>It</b>.<a>[1]</a> So", "It.<a>[1]</a> So", "<a>[1]</a>"),
        ("H<sub>2</sub>O <b>is</b> it", "H<sub>2</sub>O is it", "<sub>2</sub>"),
        ("Press <kbd>Ctrl</kbd>", "Press <kbd>Ctrl</kbd>", "<kbd>Ctrl</kbd>"),
        ("Of <b>1,000</b> and <b>5</b>", "Of 1,000 and 5", ""),
        ("It is {\\i1}very{\\i0} old", "It is very old", ""),
        ("He left<b>.</b>", "He left.", ""),
        ("<b>He left</b><i>.</i>", "He left.", ""),
    ],
)
def test_pairs_that_stay_with_what_they_hold(text: str, bare: str, single: str) -> None:
    found, _, singles = without_pairs(text, tag_marks(text))
    assert found == bare and [found[start:end] for start, end in singles] == ([single] if single else [])


def test_a_stop_behind_the_sign_of_a_note_stays_there() -> None:
    text = "He left<sup>2</sup><i>.</i>"
    bare, _, singles = without_pairs(text, tag_marks(text))
    assert [bare[start:end] for start, end in singles] == ["<sup>2</sup>", "<i>.</i>"]


def words(text: str) -> Words:
    """One token per word."""
    ends = [at for at, character in enumerate(text + " ") if character == " "]
    return Words.of(text, ends)


def test_marks_follow_attention() -> None:
    source, target = "the red car", "der Wagen rot"
    attention = np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
    enclosed = [Enclosed(4, 7, "*", "*")]
    assert insert_marks(target, enclosed, words(source), words(target), attention) == "der Wagen *rot*"
    nested = [Enclosed(0, 11, "[", "](u)"), Enclosed(4, 7, "*", "*")]
    assert insert_marks(target, nested, words(source), words(target), attention) == "[der Wagen *rot*](u)"
    assert insert_marks("", enclosed, words(source), words(""), np.zeros((0, 3))) == "**"


@pytest.mark.parametrize(
    ("source", "target", "start", "end", "expected"),
    [
        ("Note: it", "Achtung: es", 0, 5, "*Achtung:* es"),
        ("Note: it", "Achtung: es", 0, 4, "*Achtung*: es"),
        ('"Go!", she', '„Geh!", sie', 1, 4, '„*Geh!*", sie'),
        ("see (PDF)", "siehe (PDF)", 5, 8, "siehe (*PDF*)"),
        ("see (PDF)", "siehe (PDF)", 4, 9, "siehe *(PDF)*"),
        ("a link.\ue000", "ein Link.\ue000", 2, 6, "ein *Link*.\ue000"),
    ],
)
def test_punctuation_is_inside_as_in_the_source(
    source: str, target: str, start: int, end: int, expected: str
) -> None:
    enclosed = [Enclosed(start, end, "*", "*")]
    assert insert_marks(target, enclosed, words(source), words(target), np.eye(2)) == expected


@pytest.mark.parametrize(
    ("source", "target", "start", "end", "expected"),
    [
        ("call \u1400.", "\u1400 anrufen.", 5, 6, "*\u1400* anrufen."),
        ("(see \u1400) now", "jetzt (\u1400 ansehen)", 5, 6, "jetzt (*\u1400* ansehen)"),
        ("\u1400 and \u1401", "\u1401 und \u1400", 0, 1, "\u1401 und *\u1400*"),
        ("go, Tom, now!", "geh, Tom!", 12, 13, "geh, Tom*!*"),
        ("go, Tom, now!", "geh jetzt, Tom!", 7, 8, "geh jetzt*,* Tom!"),
    ],
)
def test_what_both_sides_have_keeps_its_marks(source: str, target: str, start: int, end: int, expected: str) -> None:
    """Placeholders and stops, even if other words attend to them."""
    misleading = np.fliplr(np.eye(len(target.split()), len(source.split())))
    enclosed = [Enclosed(start, end, "*", "*")]
    made = insert_marks(target, enclosed, words(source), words(target), misleading, {"\u1400", "\u1401"})
    assert made == expected


def test_a_pair_does_not_begin_at_a_space() -> None:
    """A mark that belongs to nobody stands first in the words that the pair goes around."""
    attention = np.array([[1.0, 0, 0], [0, 0.3, 0.7], [0, 0.3, 0.7]])
    target, enclosed = "c \ue000 d", [Enclosed(4, 5, "*", "*")]
    assert insert_marks(target, enclosed, words("a \ue000 b"), words(target), attention) == "c \ue000 *d*"


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 5), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_nesting_is_valid_whatever_the_attention(n_pairs: int, n_words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Words with stops, and the stand-ins of placeholders, which both sides have.
    shared = [*"abc", "\u1400", "\u1401", "\u1402,"]
    source = " ".join(f"{rng.choice(shared)}{rng.choice(['', '', ',', '!?'])}" for _ in range(rng.integers(1, 9)))
    target = " ".join(f"{rng.choice(shared)}{rng.choice(['', '', ',', '!?'])}" for _ in range(n_words))
    enclosed: list[Enclosed] = []
    for pair in range(n_pairs):
        inside = enclosed[rng.integers(len(enclosed))] if enclosed and rng.random() < 0.5 else None
        low, high = (inside.start, inside.end) if inside else (0, len(source))
        start, end = sorted(rng.integers(low, high + 1, size=2).tolist())
        crossing = any(o.start < start < o.end < end or start < o.start < end < o.end for o in enclosed)
        if start < end and not crossing:
            enclosed.append(Enclosed(start, end, f"<{pair}>", f"</{pair}>"))
    enclosed.sort(key=lambda one: (one.start, -one.end))
    attention = rng.random((n_words, len(source.split(" "))))
    made = insert_marks(target, enclosed, words(source), words(target), attention, {"\u1400", "\u1401", "\u1402"})
    stack: list[str] = []
    rest = made
    for one in enclosed:
        assert made.count(one.opening) == made.count(one.closing) == 1
    while "<" in rest:
        tag, _, rest = rest[rest.index("<") + 1 :].partition(">")
        if tag.startswith("/"):
            assert stack.pop() == tag[1:], made
        else:
            stack.append(tag)
    assert not stack


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "See [the guide] or [a text][].\n\n[the guide]: https://a.b\n[a text]: https://a.c\n",
            "SEE [THE GUIDE][the guide] OR [A TEXT][a text].\n\n[the guide]: https://a.b\n[a text]: https://a.c\n",
        ),
        (
            "One.[^1] Two.[^long-name]\n\n[^1]: A note.\n[^long-name]: Another\n    one.\n",
            "ONE.[^1] TWO.[^long-name]\n\n[^1]: A NOTE.\n[^long-name]: ANOTHER ONE.\n",
        ),
        ("***Note:*** Read this.\n\n___Very___ good.\n", "***NOTE:*** READ THIS.\n\n___VERY___ GOOD.\n"),
        ("## 1. A heading\n\n***\n", "## 1. A HEADING\n\n***\n"),
        ('+++\ntitle = "Keep"\n+++\n\nWords.\n', '+++\ntitle = "Keep"\n+++\n\nWORDS.\n'),
        ("> [!WARNING]\n> Do not open.\n", "> [!WARNING]\n> DO NOT OPEN.\n"),
        (":::note\nBe careful.\n:::\n", ":::note\nBE CAREFUL.\n:::\n"),
        ("!!! note\n    Be careful.\n\n    More.\n\nText.\n", "!!! note\n    BE CAREFUL.\n\n    MORE.\n\nTEXT.\n"),
        ('??? tip "Open me"\n    Text.\n', '??? tip "Open me"\n    TEXT.\n'),
        ("&ldquo;Don&#39;t&rdquo; &amp; caf&eacute;&nbsp;\n", "“DON'T” &amp; CAFÉ&nbsp;\n"),
        (
            "| a | b |\n|---|---|\n| yes \\| no, or | `x \\| y` it |\n",
            "| A | B |\n|---|---|\n| YES \\| NO, OR | `x \\| y` IT |\n",
        ),
        ("Term\n: Its meaning.\n", "TERM\n: ITS MEANING.\n"),
        ("Term\n\n:   Its meaning.\n\nTerm\n  : More.\n", "TERM\n\n:   ITS MEANING.\n\nTERM\n  : MORE.\n"),
        ("> [!NOTE]\n>\n> Text.\n", "> [!NOTE]\n>\n> TEXT.\n"),
        ("> [!note] A title\n", "> [!note] A TITLE\n"),
        ("> [!NOTE]  \n> Text.\n", "> [!NOTE]  \n> TEXT.\n"),
        ("- [ ] To do\n- [x] Done *now*\n", "- [ ] TO DO\n- [x] DONE *NOW*\n"),
        ("> [!warning] Take care\n> It is hot.\n", "> [!warning] TAKE CARE\n> IT IS HOT.\n"),
        (
            "One.[^1]\n\n[^1]: A note.\n\n    Its second *paragraph*.\n\n    A third.\n\nText.\n",
            "ONE.[^1]\n\n[^1]: A NOTE.\n\n    ITS SECOND *PARAGRAPH*.\n\n    A THIRD.\n\nTEXT.\n",
        ),
        ("{{% notice note %}}\nText.\n{{% /notice %}}\n", "{{% notice note %}}\nTEXT.\n{{% /notice %}}\n"),
        ('{{< figure src="a.png" >}}\nText.\n', '{{< figure src="a.png" >}}\nTEXT.\n'),
        (
            '{% highlight ruby %}\nputs "hello"\n{% endhighlight %}\nText.\n',
            '{% highlight ruby %}\nputs "hello"\n{% endhighlight %}\nTEXT.\n',
        ),
        ("{: .note }\nA note.\n", "{: .note }\nA NOTE.\n"),
        ("Look ![here](a.png){: width='5' } now.\n", "LOOK ![HERE](a.png){: width='5' } NOW.\n"),
        ("See [[Getting Started]] or [[Page|the page]].\n", "SEE [[Getting Started]] OR [[Page|THE PAGE]].\n"),
        ("This is ==very *important* text== here.\n", "THIS IS ==VERY *IMPORTANT* TEXT== HERE.\n"),
        ("This is ==very important== here, a == b.\n", "THIS IS ==VERY IMPORTANT== HERE, A == B.\n"),
        ('import Tabs from "@theme/Tabs";\n\nText.\n', 'import Tabs from "@theme/Tabs";\n\nTEXT.\n'),
        (
            "+---+---+\n| a | b |\n+===+===+\n| c | d |\n+---+---+\n\nText.\n",
            "+---+---+\n| a | b |\n+===+===+\n| c | d |\n+---+---+\n\nTEXT.\n",
        ),
    ],
)
def test_blocks_of_other_dialects_keep_their_form(text: str, expected: str) -> None:
    parsed = parse(text, "a.md")
    assert render(parsed, lambda words: words) == text
    loud = iter([Translated(one.text, louder(one)) for one in parsed.segments])
    assert "".join(map(str, parsed.render(loud))) == expected


def test_tags_are_pairs_if_they_nest() -> None:
    (segment,) = parse(
        "Click <a href='x'>*the* button</a>, <i>now *or</i> later*, <b>one<br>two</b> please.\n", "a.md"
    ).segments
    marks = [(segment.text[mark.start : mark.end], mark.pair) for mark in segment.marks]
    assert [text for text, pair in marks if pair is None] == ["<i>", "</i>", "<br>"]
    assert len({pair for text, pair in marks if text in ("<b>", "</b>")}) == 1
    assert marks[0][1] == marks[3][1] and marks[1][1] == marks[2][1]
