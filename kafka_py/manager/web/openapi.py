"""The OpenAPI 3.1 description of the JSON interface, made from the routes and the classes of their models.

The formats are those of the OpenAPI Specification 3.1 and JSON Schema 2020-12.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

import kafka_py
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.web.answers import Failure
from kafka_py.manager.web.routes import RouteParameter, WebRoute

PATH_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_PLAIN = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    type(None): {"type": "null"},
}


class SchemaNames:
    """Schemas of classes, each described once under its name."""

    def __init__(self) -> None:
        self.schemas: dict[str, dict[str, Any]] = {}

    def schema(self, kind: Any) -> dict[str, Any]:
        """The schema of a type, by reference for models; {} for what may be anything."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema(each) for each in inner]}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.schema(inner[1])}
        if isinstance(origin, type) and issubclass(origin, Collection):
            return {"type": "array", "items": self.schema(inner[0]) if inner else {}}
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [each.value if issubclass(kind, str) else each.name for each in kind]}
        if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
            return self._reference(kind)
        return {}

    def _reference(self, kind: type) -> dict[str, Any]:
        name = kind.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # a model may contain itself
            hints = get_type_hints(kind)
            names: Iterable[str] = kind._fields if hasattr(kind, "_fields") else hints
            names = [each for each in names if each in hints]
            self.schemas[name] = {
                "type": "object",
                "description": (kind.__doc__ or "").strip().split("\n")[0],
                "properties": {each: self.schema(hints[each]) for each in names},
                "required": list(names),
            }
        return {"$ref": f"#/components/schemas/{name}"}


def describe(routes: Sequence[WebRoute]) -> dict[str, Any]:
    """The whole document."""
    names = SchemaNames()
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.in_api:
            path = PATH_PARAMETER.sub(r"{\1}", f"/api{route.path.rstrip('/')}") or "/api"
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, names)
    failure = names.schema(Failure)
    return {
        "openapi": "3.1.0",
        "info": {"title": "kafka_py manager", "version": kafka_py.__version__},
        "paths": paths,
        "components": {
            "schemas": names.schemas,
            "responses": {"Failure": {"description": "What failed, and why.", "content": _json(failure)}},
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "session": {"type": "apiKey", "in": "cookie", "name": "kafka_manager"},
            },
        },
        "security": [{"basic": []}, {"session": []}],
    }


def _operation(route: WebRoute, names: SchemaNames) -> dict[str, Any]:
    own = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
           for name in PATH_PARAMETER.findall(route.path)]  # fmt: skip
    described: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "parameters": own,
        "x-role": route.role.title,
        "responses": {
            "200": {"description": "The answer.", "content": _json(names.schema(route.answer))},
            "default": {"$ref": "#/components/responses/Failure"},
        },
    }
    if route.role is AccessRole.NOBODY:
        described["security"] = []
    if route.method == "GET":
        described["parameters"] = own + [
            {"name": each.name, "in": "query", "description": each.about, "required": each.is_required,
             "schema": _schema_of(each)} for each in route.parameters
        ]  # fmt: skip
    else:
        described["requestBody"] = {"required": True, "content": _json(_body(route.parameters))}
    return described


def _operation_id(route: WebRoute) -> str:
    words = re.findall(r"\w+", PATH_PARAMETER.sub(r"by \1", route.path))
    return "_".join([route.method.lower(), *words])


def _body(parameters: Sequence[RouteParameter]) -> dict[str, Any]:
    dry_run = RouteParameter("dry_run", "Only says what would be done.", "boolean")
    rows = [*parameters, dry_run]
    return {
        "type": "object",
        "properties": {each.name: {**_schema_of(each), "description": each.about} for each in rows},
        "required": [each.name for each in rows if each.is_required],
    }


def _schema_of(parameter: RouteParameter) -> dict[str, Any]:
    plain = {"type": parameter.kind}
    return {"type": "array", "items": plain} if parameter.is_list else plain


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
