"""The OpenAPI document, with the bodies that the service reads itself."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .bodies import JSON, MULTIPART, PARQUET

_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "Where the service has tokens: one that may read, or read and write.",
}
_REF = "#/components/schemas/{model}"
_taken: list[type[BaseModel]] = []


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """Document a JSON body."""
    _taken.append(model)
    return _body(JSON, {"$ref": _REF.format(model=model.__name__)})


def takes_parquet() -> dict[str, Any]:
    """Document a Parquet file as the body."""
    return _body(PARQUET, {"type": "string", "format": "binary"})


def takes_parts(name: str, model: type[BaseModel], files: str, *, many: bool) -> dict[str, Any]:
    """Document a multipart body: a part of JSON, and files."""
    _taken.append(model)
    file: dict[str, Any] = {"type": "string", "format": "binary"}
    schema = {
        "type": "object",
        "properties": {
            name: {"$ref": _REF.format(model=model.__name__)},
            files: {"type": "array", "items": file} if many else file,
        },
        "required": [name],
    }
    return _body(MULTIPART, schema, {"encoding": {name: {"contentType": JSON}}})


def _body(kind: str, schema: dict[str, Any], more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "requestBody": {"required": True, "content": {kind: {"schema": schema, **(more or {})}}}
    }


def complete(app: FastAPI) -> None:
    """Add the schemas of those bodies to the document."""
    plain = app.openapi

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            _, definitions = models_json_schema(
                [(model, "validation") for model in _taken], ref_template=_REF
            )
            document = plain()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for name, schema in definitions["$defs"].items():
                schemas.setdefault(name, schema)
            document["components"]["securitySchemes"] = {"token": _TOKEN}
            document["security"] = [{}, {"token": []}]
        return plain()

    app.openapi = whole  # type: ignore[method-assign]  # the way that FastAPI documents
