"""The model card: what a run knows about its model, in words."""

from __future__ import annotations

from typing import Any

from fenster.model.saved import Description


def card(description: Description, note: str | None) -> str:
    """README.md of a model folder."""
    training, model = description.training, description.model
    attention = model.attention
    details = f"{attention.kind} attention"
    if attention.kind == "window":
        details += (
            f", w = {attention.window}, {attention.alignment} alignment in training and "
            f"{attention.decoding_alignment} in decoding"
        )
    inputs = training["data"]["inputs"]
    lines = [
        f"# {description.system}",
        "",
        "A document-level translation model, trained with [fenster](https://pypi.org/project/fenster). "
        "`fenster translate --model FOLDER` loads it.",
        "",
        "## Model",
        "",
        f"- transformer, {model.encoder_layers} + {model.decoder_layers} layers, width {model.width}, "
        f"{model.heads} heads, feed-forward {model.ffn}",
        f"- {details}; {model.positions} positions",
        f"- context in training: {_context(description)}",
        f"- vocabulary {description.vocab_size:,}, source/target ratio {description.ratio:.4f}",
        "",
        "## Data",
        "",
        f"{training['documents']:,} documents, {training['pairs']:,} sentence pairs, "
        f"{training['target_tokens']:,} target tokens, from:",
        "",
        *(f"- {each['split']}: {', '.join(each['paths'])} (sha256 {each['sha256'][:12]})" for each in inputs),
        "",
        note or "No note about the data was given (`card.note`).",
        "",
        f"Licence: {description.licence or 'not stated (`card.licence`); it should follow from the data’s'}.",
        "",
        "## Training",
        "",
        *_beginning(training.get("initial")),
        f"- weights of update {training['update']:,}, chosen as: {training['chosen']}",
        f"- validation perplexity {training['valid_perplexity']:.4f} a BPE token, end symbols included; "
        f"{training['valid_perplexity_inside']:.4f} without them",
        f"- fenster {training['versions']['fenster']}, git {training['versions']['git'] or 'unknown'}, "
        f"torch {training['versions']['packages'].get('torch', 'unknown')}",
        "",
        "The whole configuration is in `model.json`.",
        "",
        "## Limits",
        "",
        "Trained on the data named above and nothing else: expect other domains and languages to be translated "
        "badly. Translations have not been checked by people.",
        "",
    ]
    return "\n".join(lines)


def _beginning(initial: dict[str, Any] | None) -> list[str]:
    """The model that training began with, and whose data is in the weights too."""
    if initial is None:
        return []
    return [
        f"- began with the weights of another model ({initial['system']}, licence "
        f"{initial['licence'] or 'not stated'}), trained on: {', '.join(initial['trained_on'])}"
    ]


def _context(description: Description) -> str:
    context = description.context
    if context.kind == "sentence":
        return "single sentences"
    if context.kind == "adjacent":
        return f"each sentence after its {context.k} predecessors"
    return "whole documents" + (f" in parts of at most {context.limit} target tokens" if context.limit else "")
