"""The model card: what a run knows about its model, in words."""

from __future__ import annotations

from typing import Any

from fenster.model.description import Description


def card(description: Description, note: str | None) -> str:
    """README.md of a model folder."""
    training, model = description.training, description.model
    inputs = training["data"]["inputs"]
    more = ", on that of the model it started from" if training.get("warm_start") else ""
    lines = [
        f"# {description.system}",
        "",
        "A document-level translation model, trained with Fenster (document-level machine translation with window "
        "attention). `fenster translate --model FOLDER` loads it.",
        "",
        "## Model",
        "",
        f"- transformer, {model.encoder_layers} + {model.decoder_layers} layers, d_model {model.d_model}, "
        f"{model.heads} heads, feed-forward {model.ffn}",
        f"- {model.variant.describe()}; {model.positions} positions",
        f"- context in training: {description.context.describe()}",
        f"- vocabulary {description.vocab_size:,}, source/target ratio {description.ratio:.4f}",
        "",
        "## Data",
        "",
        f"{training['documents']:,} documents, {training['pairs']:,} sentence pairs, "
        f"{training['target_tokens']:,} target tokens, from:",
        "",
        *(f"- {record['split']}: {', '.join(record['paths'])} (sha256 {record['sha256'][:12]})" for record in inputs),
        "",
        note or "No note about the data was given (`card.note`).",
        "",
        f"Licence: {description.licence or 'not stated (`card.licence`); it should follow from the data’s'}.",
        "",
        "## Training",
        "",
        *_warm_start(training.get("warm_start")),
        f"- weights of update {training['update']:,}, chosen as: {training['chosen']}",
        f"- validation perplexity {training['valid_perplexity']:.4f} per BPE token, end symbols included; "
        f"{training['valid_perplexity_inside']:.4f} without them",
        f"- fenster {training['versions']['fenster']}, git {training['versions']['git'] or 'unknown'}, "
        f"torch {training['versions']['packages'].get('torch', 'unknown')}",
        "",
        "The whole configuration is in `model.json`.",
        "",
        "## Limits",
        "",
        f"Trained on the data named above{more} and nothing else: expect other domains and languages to be "
        "translated badly. Translations have not been checked by people.",
        "",
    ]
    return "\n".join(lines)


def _warm_start(start: dict[str, Any] | None) -> list[str]:
    """The model that training started from; its data is in the weights, too."""
    if start is None:
        return []
    return [
        f"- warm start from the weights of another model ({start['system']}, licence "
        f"{start['licence'] or 'not stated'}), trained on: {', '.join(start['trained_on'])}"
    ]
