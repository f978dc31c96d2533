"""Which characters outside of ASCII survive translation: each of the vocabulary's in three sentences, with protection
and without it.

    python experiments/characters.py -o results/characters.json
"""

from __future__ import annotations

import unicodedata

from script import parser, write

from fenster.decode.config import DecodeConfig
from fenster.decode.translator import Translator

SIGNS = ("The sign {} is here.", "We need {} of it.", "Then we saw {} in the book.")
LETTERS = ("The letter {} is here.", "Then Mr. Na{}ov came home.", "She met Mar{}a in the garden.")


def main() -> None:
    given = parser(__doc__).parse_args()
    made = []
    for protection in (False, True):
        config = DecodeConfig(beam=given.beam, guards=False, protection=protection)
        translator = Translator.load(given.model, config)
        characters = sorted(one for one in translator.tokenizer.characters if not one.isascii())
        texts = [[text.format(one)] for one in characters for text in _sentences(one)]
        translated = [result.texts[0] for result in translator.translate_all(texts)]
        kept = {
            one: sum(one in text for text in translated[3 * number : 3 * number + 3])
            for number, one in enumerate(characters)
        }
        made.append(
            {
                "protection": protection,
                "characters": len(characters),
                "always": sum(count == 3 for count in kept.values()),
                "never": sum(count == 0 for count in kept.values()),
                "lost": {one: 3 - count for one, count in kept.items() if count < 3},
            }
        )
        print({name: value for name, value in made[-1].items() if name != "lost"}, flush=True)
    write(made, given.output)


def _sentences(character: str) -> tuple[str, ...]:
    return LETTERS if unicodedata.category(character).startswith("L") else SIGNS


if __name__ == "__main__":
    main()
