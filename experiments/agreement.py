"""How much two translations of one text agree: identical lines, and BLEU of the first against the second.

python experiments/agreement.py int8.txt float32.txt -o results/int8/agreement.json
"""

from __future__ import annotations

from pathlib import Path

import sacrebleu
from script import parser, write


def main() -> None:
    options = parser(__doc__)
    options.add_argument("translations", nargs=2, type=Path)
    given = options.parse_args()
    first, second = (path.read_text(encoding="utf-8").splitlines() for path in given.translations)
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one or other]
    made = {
        "segments": len(pairs),
        "identical": sum(one == other for one, other in pairs),
        "BLEU": sacrebleu.corpus_bleu([one for one, _ in pairs], [[other for _, other in pairs]]).score,
    }
    print(made)
    write(made, given.output)


if __name__ == "__main__":
    main()
