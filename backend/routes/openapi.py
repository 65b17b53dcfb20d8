"""The OpenAPI 3.1 document, made from the notes that views carry; nothing in it is written twice."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from flask import Flask
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from werkzeug.routing import Rule

from .http import Operation
from .problems import error_codes
from .schemas.base import Problem

JsonObject = dict[str, Any]
REF = "#/components/schemas/{model}"
VARIABLE = re.compile(r"<(?:[^:>]+:)?([^>]+)>")
ALWAYS = (400, 401, 403, 500)


def document(app: Flask) -> JsonObject:
    """The whole document of an application."""
    found = list(_operations(app))
    models = {m for _, _, spec in found for m in _models(spec)} | {Problem}
    ordered = sorted(models, key=lambda m: m.__name__)
    _, definitions = models_json_schema([(m, "validation") for m in ordered], ref_template=REF)
    paths: JsonObject = {}
    for rule, method, spec in found:
        path = VARIABLE.sub(r"{\1}", rule.rule)
        paths.setdefault(path, {})[method.lower()] = _operation(rule, method, spec, definitions["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "NanoClaw",
            "version": "1",
            "description": "A workspace where people work on projects with a language-model agent.",
        },
        "paths": paths,
        "components": {"schemas": definitions["$defs"], "securitySchemes": _schemes()},
        "security": [{"bearer": []}, {"session": []}],
        "x-error-codes": error_codes(),
    }


def _operations(app: Flask) -> Iterator[tuple[Rule, str, Operation]]:
    for rule in sorted(app.url_map.iter_rules(), key=lambda r: (r.rule, r.endpoint)):
        spec = getattr(app.view_functions[rule.endpoint], "operation", None)
        if spec is None:
            continue
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield rule, method, spec


def _models(spec: Operation) -> Iterator[type[BaseModel]]:
    yield from (model for model in (spec.query, spec.body) if model)
    for answer in spec.returns.values():
        if isinstance(answer, type):
            yield answer


def _schemes() -> JsonObject:
    return {
        "bearer": {"type": "http", "scheme": "bearer"},
        "session": {
            "type": "apiKey",
            "in": "header",
            "name": "X-CSRF-Token",
            "description": "With the session cookie; needed for unsafe methods only.",
        },
    }


def _operation(rule: Rule, method: str, spec: Operation, schemas: JsonObject) -> JsonObject:
    operation: JsonObject = {
        "operationId": rule.endpoint.replace(".", "_"),
        "summary": spec.summary,
        "tags": [rule.endpoint.partition(".")[0]],
        "parameters": [*_path_parameters(rule), *_query_parameters(spec, schemas), *_headers(rule)],
        "responses": {**_answers(spec), **_problems(spec)},
    }
    if spec.public:
        operation["security"] = []
    if spec.body is not None:
        schema = schemas[spec.body.__name__]
        content = {"application/json": {"schema": _ref(spec.body)}}
        operation["requestBody"] = {"required": bool(schema.get("required")), "content": content}
    elif spec.raw_body is not None:
        operation["requestBody"] = {"required": True, "content": {spec.raw_body: {"schema": _raw(spec.raw_body)}}}
    return operation


def _path_parameters(rule: Rule) -> list[JsonObject]:
    names = VARIABLE.findall(rule.rule)
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for name in names
    ]


def _query_parameters(spec: Operation, schemas: JsonObject) -> list[JsonObject]:
    if spec.query is None:
        return []
    schema = schemas[spec.query.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _nullable_left_out(field)}
        for name, field in schema["properties"].items()
    ]


def _nullable_left_out(field: JsonObject) -> JsonObject:
    """A query string holds no null: what may be null may be left out."""
    choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        return {**choices[0], **({"title": field["title"]} if "title" in field else {})}
    return field


def _headers(rule: Rule) -> list[JsonObject]:
    if not rule.rule.endswith("/events") or "<" not in rule.rule:
        return []
    schema = {"type": "string", "pattern": "^[0-9]{1,16}$"}
    return [{"name": "Last-Event-ID", "in": "header", "required": False, "schema": schema}]


def _answers(spec: Operation) -> JsonObject:
    answers: JsonObject = {}
    for status, content in spec.returns.items():
        answer: JsonObject = {"description": HTTPStatus(status).phrase}
        if isinstance(content, str | tuple):
            kinds = (content,) if isinstance(content, str) else content
            answer["content"] = {kind: {"schema": _raw(kind)} for kind in kinds}
        elif content is not None:
            answer["content"] = {"application/json": {"schema": _ref(content)}}
        answers[str(status)] = answer
    return answers


def _problems(spec: Operation) -> JsonObject:
    statuses = set(ALWAYS) | set(spec.errors)
    if spec.query or spec.body or spec.raw_body:
        statuses |= {413, 415, 422}
    content = {"application/problem+json": {"schema": _ref(Problem)}}
    return {
        str(status): {"description": HTTPStatus(status).phrase, "content": content}
        for status in sorted(statuses - set(spec.returns))
    }


def _ref(model: type[BaseModel]) -> JsonObject:
    return {"$ref": REF.format(model=model.__name__)}


def _raw(media_type: str) -> JsonObject:
    if media_type == "multipart/form-data":
        part = {"type": "string", "format": "binary"}
        return {"type": "object", "required": ["file"], "properties": {"file": part}}
    if media_type == "application/json":
        return {}
    return {"type": "string", **({} if media_type.startswith("text/") else {"format": "binary"})}
