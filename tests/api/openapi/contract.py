"""Whether an answer is one that `/openapi.json` promises: its status, content type, code and schema."""

from __future__ import annotations

import functools
import re
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema_rs
from pydantic import SecretStr

from api.app import create_app
from api.settings import ApiSettings

_DOCUMENT = "urn:rhapsode"
_METHODS = ("get", "head", "post", "put", "patch", "delete")


@functools.cache
def document() -> dict[str, Any]:
    """Of an API with a folder store, which serves the most."""
    return create_app(ApiSettings(store="file:///nowhere", url_secret=SecretStr("a-secret-for-tests-only"))).openapi()


def check_answer(response: httpx.Response) -> None:
    """For httpx' event hooks. Fails the test whose request was answered otherwise than the contract says."""
    method, path = response.request.method.lower(), response.request.url.path
    template = _template(path)
    if template is None or method not in _METHODS:
        return
    operation = document()["paths"][template].get("get" if method == "head" else method)
    place = f"{method.upper()} {path} answered {response.status_code}"
    if operation is None:
        assert response.status_code == 405, place
        return
    answer = operation["responses"].get(str(response.status_code))
    assert answer is not None, f"{place}, which {operation['operationId']} does not document: {_body(response)}"
    content = _resolved(answer).get("content")
    if method != "head" and content is not None:
        _check_content(response, content, template, method, place)


def _check_content(response: httpx.Response, content: dict[str, Any], template: str, method: str, place: str) -> None:
    media_type = response.headers.get("content-type", "").partition(";")[0]
    assert media_type in content, f"{place} as {media_type!r}; documented: {', '.join(content)}"
    if media_type.endswith("json"):
        errors = list(_validator(template, method, response.status_code, media_type).iter_errors(_json(response)))
        assert not errors, f"{place}: {errors[0].message[:500]} at {errors[0].instance_path} in {_body(response)}"


def _json(response: httpx.Response) -> object:
    response.read()
    return response.json()


def _body(response: httpx.Response) -> str:
    response.read()
    return response.text[:500]


@functools.cache
def _validator(template: str, method: str, status: int, media_type: str) -> Any:
    steps = ("paths", template, method, "responses", str(status))
    answer = document()["paths"][template][method]["responses"][str(status)]
    start = answer["$ref"].removeprefix("#") if "$ref" in answer else pointer_to(steps)
    return validator(f"{start}{pointer_to(('content', media_type, 'schema'))}")


def validator(pointer: str) -> Any:
    """Of the schema at this place of the document."""
    schema = {"$ref": f"{_DOCUMENT}#{pointer}"}
    return jsonschema_rs.validator_for(schema, registry=_registry(), validate_formats=True)


@functools.cache
def _registry() -> Any:
    return jsonschema_rs.Registry([(_DOCUMENT, document())], draft=jsonschema_rs.Draft202012)


def pointer_to(steps: tuple[str, ...]) -> str:
    """RFC 6901, as a URI's fragment."""
    return "".join(f"/{quote(step.replace('~', '~0').replace('/', '~1'), safe='~')}" for step in steps)


def _resolved(answer: dict[str, Any]) -> dict[str, Any]:
    found: Any = answer
    if "$ref" in answer:
        found = document()
        for step in answer["$ref"].removeprefix("#/").split("/"):
            found = found[step]
    return found


def _template(path: str) -> str | None:
    """The documented path that this is one of; literal ones first."""
    fitting = [each for each, pattern in _patterns() if pattern.fullmatch(path)]
    return min(fitting, key=lambda each: each.count("{"), default=None)


@functools.cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (each, re.compile(re.sub(r"\\{(\w+)\\}", lambda m: ".+" if m[1] == "key" else "[^/]+", re.escape(each))))
        for each in document()["paths"]
    ]
