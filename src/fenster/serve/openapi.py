"""What /docs says of bodies that may be JSON or a form."""

from __future__ import annotations

from typing import Any


def body(example: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """A request body of these fields, as JSON or a form."""
    properties = {name: {"example": value} | _type(value) for name, value in example.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    kinds = ("application/json", "application/x-www-form-urlencoded")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


def upload(example: dict[str, Any]) -> dict[str, Any]:
    """A form with a file and these fields."""
    properties: dict[str, Any] = {"file": {"type": "string", "format": "binary"}}
    properties |= {name: {"example": value} | _type(value) for name, value in example.items()}
    schema = {"type": "object", "properties": properties, "required": ["file"]}
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema}}}}


def _type(value: object) -> dict[str, Any]:
    if isinstance(value, list):
        return {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    return {"type": "integer" if isinstance(value, int) else "string"}
