"""Generated parallel documents (English to a simplified German) with real discourse dependencies.

Two choices cannot be made from the sentence alone, and every variant is equally likely:
- *register*: "you" is `Sie` or `du` in all its forms, decided by the last greeting;
- *pronoun*: "it" is `er/sie/es` (or `ihn/sie/es`), decided by the noun introduced last.
So the best sentence-level guess is right in 1/2 and 1/3 of the cases, whatever the model, while the deciding
sentence always stands earlier in the document, at a distance the caller controls. Everything follows from the
seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fenster.document import Document, ParallelDocument

Kind = Literal["register", "pronoun"]

# The best accuracy that is possible from the source sentence alone.
CHANCE: dict[Kind, float] = {"register": 1 / 2, "pronoun": 1 / 3}

# English, German; grouped by German gender.
_NOUNS = {
    "m": "table Tisch,key Schlüssel,spoon Löffel,letter Brief,coat Mantel,ring Ring,chair Stuhl,hat Hut,"
    "mirror Spiegel,basket Korb,carpet Teppich,kettle Kessel",
    "f": "lamp Lampe,clock Uhr,bag Tasche,cup Tasse,bottle Flasche,flower Blume,map Karte,candle Kerze,"
    "trumpet Trompete,blanket Decke,ladder Leiter,brush Bürste",
    "n": "book Buch,car Auto,knife Messer,boat Boot,picture Bild,dress Kleid,piano Klavier,tent Zelt,"
    "bicycle Fahrrad,glass Glas,pillow Kissen,tool Werkzeug",
}
NOUNS = [(g, *pair.split(" ")) for g, row in _NOUNS.items() for pair in row.split(",")]
_PEOPLE = ["Anna", "Peter", "Clara", "Max", "Julia", "Paul", "Emma", "Jonas", "Laura", "Simon", "Nina", "Oskar"]
_SURNAMES = ["Weber", "Schmidt", "Fischer", "Becker", "Wagner", "Richter", "Klein", "Wolf", "Braun", "Krause"]
_CITIES = ["Berlin", "Hamburg", "Bremen", "Dresden", "Leipzig", "Bonn", "Essen", "Mainz"]
_DAYS = [
    pair.split(" ")
    for pair in ["Monday Montag", "Tuesday Dienstag", "Thursday Donnerstag", "Friday Freitag", "Sunday Sonntag"]
]
_VERBS = [
    pair.split("/")
    for pair in ["works/arbeitet", "lives/wohnt", "waits/wartet", "sleeps/schläft", "sings/singt", "cooks/kocht"]
]
_ARTICLE = {"nom": dict(m="der", f="die", n="das"), "acc": dict(m="den", f="die", n="das")}
_IT = {"nom": dict(m="er", f="sie", n="es"), "acc": dict(m="ihn", f="sie", n="es")}

_GREETINGS = {
    "formal": [
        ("Good day , Mr {surname} .", "Guten Tag , Herr {surname} ."),
        ("Good day , Mrs {surname} .", "Guten Tag , Frau {surname} ."),
        ("Welcome , Professor {surname} .", "Willkommen , Professor {surname} ."),
        ("Dear Mr {surname} , please come in .", "Lieber Herr {surname} , bitte herein ."),
    ],
    "informal": [
        ("Hi , {person} .", "Hallo , {person} ."),
        ("Hey {person} , nice evening .", "Na {person} , schöner Abend ."),
        ("Welcome home , {person} .", "Willkommen daheim , {person} ."),
        ("Dear {person} , please come in .", "Liebes {person} , bitte herein ."),
    ],
}
# English; German with the formal and the informal words as {0}, {1}, …
_YOU = [
    ("Are you tired today ?", "{0} {1} heute müde ?", ("Sind", "Sie"), ("Bist", "du")),
    ("I thank you very much .", "Ich danke {0} sehr .", ("Ihnen",), ("dir",)),
    ("{person} knows you well .", "{person} kennt {0} gut .", ("Sie",), ("dich",)),
    ("Do you live in {city} ?", "{0} {1} in {city} ?", ("Wohnen", "Sie"), ("Wohnst", "du")),
    ("Your friend {verb} in {city} .", "{0} Freund {verb} in {city} .", ("Ihr",), ("Dein",)),
    ("{person} asked you on {day} .", "{person} fragte {0} am {day} .", ("Sie",), ("dich",)),
    ("You never sing on {day} .", "{0} {1} nie am {day} .", ("Sie", "singen"), ("Du", "singst")),
]
_INTRODUCTIONS = [
    ("Here is the {noun} .", "Hier ist {the} {noun} .", "nom"),
    ("{person} bought the {noun} on {day} .", "{person} kaufte {the} {noun} am {day} .", "acc"),
    ("The {noun} stands in the hall .", "{The} {noun} steht im Flur .", "nom"),
    ("{person} found the {noun} in {city} .", "{person} fand {the} {noun} in {city} .", "acc"),
]
_IT_SENTENCES = [
    ("It is very old .", "{It} ist sehr alt .", "nom"),
    ("{person} wants it .", "{person} will {it} .", "acc"),
    ("On {day} it was still new .", "Am {day} war {it} noch neu .", "nom"),
    ("Nobody needs it in {city} .", "Niemand braucht {it} in {city} .", "acc"),
    ("It comes from {city} .", "{It} kommt aus {city} .", "nom"),
]
_FILLERS = [
    ("{person} {verb} in {city} .", "{person} {verb} in {city} ."),
    ("{person} and {other} met on {day} .", "{person} und {other} trafen sich am {day} ."),
    ("Many people live in {city} .", "Viele Leute wohnen in {city} ."),
    ("On {day} {person} {verb} .", "Am {day} {verb} {person} ."),
    ("We travel to {city} with {person} .", "Wir reisen mit {person} nach {city} ."),
    ("The weather in {city} is fine .", "Das Wetter in {city} ist schön ."),
]


@dataclass(frozen=True)
class Decision:
    """A choice that segment `segment` needs and segment `decided_by` settles (both from 0)."""

    segment: int
    kind: Kind
    expected: str
    options: tuple[str, ...]
    decided_by: int

    @property
    def distance(self) -> int:
        """Sentences between: 1 means that the sentence just before decides."""
        return self.segment - self.decided_by

    def right(self, hypothesis: str) -> bool:
        """True if a translation holds the expected form and none of the others."""
        words = re.findall(r"\w+", hypothesis.lower())
        wrong = {option for option in self.options if option != self.expected}
        return self.expected in words and not wrong & set(words)


@dataclass(frozen=True)
class GeneratedDocument:
    pair: ParallelDocument
    decisions: tuple[Decision, ...]


def _joined(text: str) -> str:
    """Punctuation joined to the word before it, as people write."""
    return re.sub(r" ([.,?])", r"\1", text)


class _Writer:
    """The state of one document being written: lines so far, and what the last deciding sentences said."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.source: list[str] = []
        self.target: list[str] = []
        self.decisions: list[Decision] = []
        self.register: tuple[str, int] | None = None  # (formal | informal, segment that said so)
        self.noun: tuple[str, int] | None = None  # (gender, segment that introduced it)

    def add(self, english: str, german: str, **words: tuple[str, str]) -> None:
        rng = self.rng
        day, verb = rng.choice(_DAYS), rng.choice(_VERBS)
        person, other = rng.sample(_PEOPLE, 2)
        fixed = dict(person=person, other=other, city=rng.choice(_CITIES), surname=rng.choice(_SURNAMES))
        left = fixed | {"day": day[0], "verb": verb[0]} | {k: v[0] for k, v in words.items()}
        right = fixed | {"day": day[1], "verb": verb[1]} | {k: v[1] for k, v in words.items()}
        self.source.append(_joined(english.format(**left)))
        self.target.append(_joined(german.format(**right)))

    def filler(self) -> None:
        self.add(*self.rng.choice(_FILLERS))

    def decide(self, kind: Kind) -> None:
        """A sentence that settles the register or introduces the noun that "it" will mean."""
        if kind == "register":
            register = self.rng.choice(list(_GREETINGS))
            self.register = (register, len(self.source))
            self.add(*self.rng.choice(_GREETINGS[register]))
            return
        gender = self.rng.choice("mfn")
        _, english, german = self.rng.choice([noun for noun in NOUNS if noun[0] == gender])
        source, target, case = self.rng.choice(_INTRODUCTIONS)
        the = _ARTICLE[case][gender]
        self.noun = (gender, len(self.source))
        self.add(source, target, noun=(english, german), the=("", the), The=("", the.capitalize()))

    def depend(self, kind: Kind) -> None:
        """A sentence whose translation needs what was settled before."""
        segment = len(self.source)
        if kind == "register":
            assert self.register is not None
            english, german, formal, informal = self.rng.choice(_YOU)
            register, decided_by = self.register
            words = formal if register == "formal" else informal
            for i, word in enumerate(words):
                german = german.replace(f"{{{i}}}", word)
            self.add(english, german)
            # The word that differs: the pronoun itself where verb and pronoun both change.
            at = next(i for i, word in enumerate(formal) if word in ("Sie", "Ihnen", "Ihr"))
            options: tuple[str, ...] = (formal[at].lower(), informal[at].lower())
            expected = words[at].lower()
        else:
            assert self.noun is not None
            english, german, case = self.rng.choice(_IT_SENTENCES)
            gender, decided_by = self.noun
            it = _IT[case][gender]
            self.add(english, german, it=("", it), It=("", it.capitalize()))
            options, expected = tuple(_IT[case].values()), it
        self.decisions.append(Decision(segment, kind, expected, options, decided_by))


def generate(
    documents: int,
    *,
    seed: int = 1,
    sentences: tuple[int, int] = (8, 20),
    distance: tuple[int, int] = (1, 6),
    echo: float = 0.3,
) -> Iterator[GeneratedDocument]:
    """`documents` documents of about `sentences` segments (inclusive range).

    `distance` is the range of sentences from the deciding to the depending one. `echo` is the chance that a
    sentence in between also depends on it, so that earlier *translations* tell the choice as well; 0 makes
    the deciding sentence the only evidence (for distance studies).
    """
    if not (1 <= distance[0] <= distance[1] and 1 <= sentences[0] <= sentences[1] and 0 <= echo <= 1):
        raise ValueError(f"distance {distance}, sentences {sentences} and echo {echo} must be rising and positive")
    rng = random.Random(seed)
    for number in range(1, documents + 1):
        writer = _Writer(rng)
        length = rng.randint(*sentences)
        while len(writer.source) < length:
            kind: Kind = rng.choice(("register", "pronoun"))
            gap = rng.randint(*distance)
            writer.decide(kind)
            for _ in range(gap - 1):
                if rng.random() < echo:
                    writer.depend(kind)
                else:
                    writer.filler()
            writer.depend(kind)
        id = f"generated-{seed}-{number}"
        pair = ParallelDocument(Document.of(id, writer.source), Document.of(id, writer.target))
        yield GeneratedDocument(pair, tuple(writer.decisions))
