"""The machine-readable contract: complete, consistent, and changed on purpose only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.access.idempotent_route import IdempotentRoute
from api.http.parsing import parse_body
from api.http.problems.codes import CODES
from api.openapi import answers as openapi_answers
from api.openapi import description as openapi_description
from api.openapi import refusals as openapi_errors
from api.openapi.examples import examples
from api.settings import ApiSettings
from rhapsode.contract.base import RequestBody
from tests.api.openapi.contract import document, pointer_to, validator
from tests.api.openapi.openapi_snapshot import current, differences, kept, snapshot
from tests.api.openapi.routes import api_routes


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def operation_ids() -> set[str]:
    return {operation["operationId"] for _, _, operation in operations()}


def test_the_contract_is_the_one_that_was_agreed_to() -> None:
    changed = "\n".join(differences(kept(), current()))

    assert changed == "", "run `make openapi` if this is meant"


def test_one_more_field_is_one_more_line_of_the_snapshot() -> None:
    described = json.loads(json.dumps(document()))
    order = described["components"]["schemas"]["JobRequest"]
    order["properties"]["shout"] = {"type": "boolean"}
    order["required"].append("shout")

    assert [*differences(current(), snapshot(described))] == ["+ JobRequest.shout"]


def test_the_description_refers_to_nothing_that_it_lacks() -> None:
    text = json.dumps(document())

    for kind in ("schemas", "responses", "headers"):
        wanted = set(re.findall(rf'"#/components/{kind}/([^"]+)"', text))
        assert wanted - document()["components"][kind].keys() == set()


def answered() -> dict[str, dict[str, Any]]:
    """Every schema that an answer holds, however deep, by its name."""
    schemas: dict[str, dict[str, Any]] = document()["components"]["schemas"]
    found: dict[str, dict[str, Any]] = {}
    texts = [json.dumps([operation["responses"] for _, _, operation in operations()])]
    while texts:
        for name in set(re.findall(r'"#/components/schemas/([^"]+)"', texts.pop())) - found.keys():
            found[name] = schemas[name]
            texts.append(json.dumps(schemas[name]))
    return found


def test_an_answer_may_have_more_fields_one_day_and_has_all_of_todays() -> None:
    """Parts that it shares with requests among them; of a file's tags those that are empty are left out."""
    assert {"ShownNarration", "Output", "Quality", "Sampling"} <= answered().keys()
    assert [name for name, schema in answered().items() if schema.get("additionalProperties") is False] == []
    for name in ("ShownNarration", "Output", "OutputFormat", "Loudness", "Quality", "Sampling", "Pauses"):
        assert set(answered()[name]["required"]) == answered()[name]["properties"].keys(), name


def test_an_operation_has_one_name_of_its_own() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]

    assert len(names) == len(set(names)) > 80


def test_every_table_speaks_of_operations_that_there_are() -> None:
    named = {*openapi_errors.OF_OPERATIONS, *openapi_answers.MORE}
    named |= {name for way in openapi_description.WAYS for name in (way["operation"], *way["targets"])}

    assert named - operation_ids() == set()
    assert examples().keys() - operation_ids() == {"webhooks"}


def test_no_operation_documents_a_code_under_a_status_that_it_never_has() -> None:
    statuses = {each.code: each.statuses for each in CODES}

    for path, method, operation in operations():
        for status, code in openapi_errors.refusals(path, method, operation):
            assert status in statuses[code], (method, path, status, code)


def test_every_post_says_that_it_takes_an_idempotency_key() -> None:
    posts = [operation for _, method, operation in operations() if method == "post"]

    for post in posts:
        assert [each["name"] for each in post["parameters"]].count("Idempotency-Key") == 1


def test_every_post_keeps_its_answers_under_a_key(api_settings: ApiSettings) -> None:
    posts = [route for route in api_routes(api_settings) if "POST" in (route.methods or ())]

    def takes_the_key(route: APIRoute) -> bool:
        return any(each.alias == "Idempotency-Key" for each in route.dependant.header_params)

    assert [each.name for each in posts if not isinstance(each, IdempotentRoute) and not takes_the_key(each)] == []


def test_a_link_fills_in_every_parameter_of_where_it_leads() -> None:
    paths = {operation["operationId"]: path for path, _, operation in operations()}

    for way in openapi_description.WAYS:
        for target in way["targets"]:
            assert set(re.findall(r"{(\w+)}", paths[target])) == set(way["parameters"]), (way["operation"], target)


def test_the_document_is_one_of_openapi_3_1() -> None:
    assert document()["openapi"].startswith("3.1.")
    for schema in document()["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"})


def json_bodies() -> Iterator[tuple[str, ...]]:
    """Where every body in JSON stands that somebody sends: requests, answers that are no refusals, webhooks."""
    for path, method, operation in operations():
        place = ("paths", path, method)
        for status, response in operation["responses"].items():
            if status < "300" and "application/json" in response.get("content", {}):
                yield *place, "responses", status, "content", "application/json"
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            yield *place, "requestBody", "content", "application/json"
    for event in document()["webhooks"]:
        yield "webhooks", event, "post", "requestBody", "content", "application/json"


def at(place: tuple[str, ...]) -> dict[str, Any]:
    found = document()
    for step in place:
        found = found[step]
    return found


def test_every_body_has_an_example() -> None:
    assert [" ".join(place) for place in json_bodies() if "example" not in at(place)] == []


@pytest.mark.parametrize("place", sorted(json_bodies()), ids=" ".join)
def test_an_example_is_one(place: tuple[str, ...]) -> None:
    errors = validator(pointer_to((*place, "schema"))).iter_errors(at(place)["example"])

    assert [f"{error.message} at {error.instance_path}" for error in errors] == []


def declared(base: type[BaseModel] = RequestBody) -> Iterator[type[BaseModel]]:
    """Every body of the contract that an operation takes."""
    taken = json.dumps([operation.get("requestBody") for _, _, operation in operations()])
    for model in base.__subclasses__():
        yield from declared(model)
        if f'"#/components/schemas/{model.__name__}"' in taken:
            yield model


@pytest.mark.parametrize("form", tuple(declared()), ids=lambda form: form.__name__)
def test_an_example_of_a_request_is_read_as_one(form: type[BaseModel]) -> None:
    reference = {"$ref": f"#/components/schemas/{form.__name__}"}
    bodies = [operation.get("requestBody", {}).get("content", {}).values() for _, _, operation in operations()]
    given = [
        body["example"] for contents in bodies for body in contents if body["schema"] == reference and "example" in body
    ]

    for example in given:
        assert parse_body(form, json.dumps(example).encode()).model_fields_set == set(example)
    assert given or "Form" in form.__name__
