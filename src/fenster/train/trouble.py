"""What a run tells its user when it cannot go on."""

from __future__ import annotations

from collections.abc import Sequence

from fenster.errors import FensterError
from fenster.train.config import TrainConfig
from fenster.train.inputs import Inputs


def memory_error(batches: Sequence[Inputs], update: int, config: TrainConfig) -> FensterError:
    worst = max(batches, key=lambda inputs: inputs.source.tokens + inputs.target.tokens)
    return FensterError(
        f"out of memory at update {update:,}, in a batch of {len(worst.batch)} examples with "
        f"{worst.batch.source.tokens:,} source and {worst.batch.target.tokens:,} target tokens "
        f"(the longest has {max(worst.batch.source.longest, worst.batch.target.longest):,})",
        fix=f"lower batch.tokens (now {config.batch.tokens:,}) and raise optimizer.batches to match"
        + ("" if config.checkpointing == "layers" else ", or set checkpointing: ffn or layers"),
    )


def gradient_error(in_a_row: int, update: int) -> FensterError:
    return FensterError(
        f"the gradient of {in_a_row} updates in a row was not a number (NaN or infinite); none of them was applied. "
        f"The run stopped at update {update:,}",
        fix="begin again in another output folder, with a lower optimizer.rate, a longer optimizer.warmup or "
        "optimizer.clip; if it happens at the very beginning, with precision: float32",
    )
