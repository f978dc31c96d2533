"""Entities in texts that are no web pages."""

import pytest

from fenster.language.entities import decoded, encoded

CASES = [
    ("It&#39;s 5 &amp; more, don&#39;t wait.", "It's 5 & more, don't wait."),
    ("Say &quot;hello&quot; &ndash; it&rsquo;s late&hellip;", 'Say "hello" – it’s late…'),
    ("Use &lt;b&gt;, 5&nbsp;km, &unknown; and &#0;.", "Use &lt;b&gt;, 5&nbsp;km, &unknown; and &#0;."),
    ('<a href="x?a=1&amp;b=2">Go</a> &amp; wait', '<a href="x?a=1&amp;b=2">Go</a> & wait'),
    ("R&D &amp; more", "R&D &amp; more"),
]


@pytest.mark.parametrize(("text", "read"), CASES)
def test_entities_are_read_and_spelt_again(text: str, read: str) -> None:
    found = decoded(text)
    assert found.text == read
    assert encoded(found.text, found.spelling) == text


def test_places_move() -> None:
    found = decoded("A&#39;b &amp; c")
    assert found.text == "A'b & c"
    assert [found.text[found.moved("A&#39;b &amp; c".index(one))] for one in "bc"] == ["b", "c"]


def test_a_character_that_is_spelt_in_two_ways_stays_bare() -> None:
    found = decoded("it's don&#39;t")
    assert found.text == "it's don't" and encoded("geht's", found.spelling) == "geht's"


def test_tags_and_entities_of_a_translation_are_left_alone() -> None:
    assert encoded('<a b="c">"&" &lt;</a>', {'"': "&quot;", "&": "&amp;"}) == '<a b="c">&quot;&amp;&quot; &lt;</a>'
