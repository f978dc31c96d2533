"""What may be wrong with a translation, in words."""

from __future__ import annotations

PROBLEMS = {
    "numbers": "figures from the source are missing or duplicated",
    "names": "a name of the source is missing",
    "characters": "characters that the model does not know came out as \ufffd or as letters of another language",
    "repetition": "words are repeated",
    "length": "much longer or shorter than the source",
    "copy": "identical to the source",
    "duplicate": "identical to the translation of a different, earlier sentence",
    "register": "addresses people in a different register than requested",
    "glossary": "a term of the glossary is missing",
    "unsure": "the model itself finds it unlikely, which is typical of invented content",
    "coverage": "the model looked at too little of the source: something may be missing or made up",
    "limit": "reached the length limit and may be incomplete",
    "language": "the source is in another language; copied if that is the target language",
}
