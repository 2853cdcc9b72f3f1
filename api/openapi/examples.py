"""Examples of requests and answers, from `examples.json`: tests hold each against what it is an example of.

The file maps an operationId to `request` and to statuses; webhooks by their event. Where a name of `values` stands in
place of a value, as $voice, that value is meant: one job is the example of many answers.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def examples() -> dict[str, Any]:
    """By operationId, with `webhooks` beside them."""
    document = json.loads(files("api").joinpath("openapi", "examples.json").read_text())
    return _filled_in(document, document.pop("values"))


def _filled_in(node: Any, values: dict[str, Any]) -> Any:  # noqa: ANN401 - any value of JSON
    match node:
        case dict():
            return {name: _filled_in(value, values) for name, value in node.items()}
        case list():
            return [_filled_in(value, values) for value in node]
        case str() if node in values:
            return values[node]
        case _:
            return node


def add_examples(document: dict[str, Any]) -> None:
    known = examples()
    for operations in document["paths"].values():
        for operation in operations.values():
            of_operation = known.get(operation["operationId"], {})
            for place, example in of_operation.items():
                bodies = operation["requestBody"] if place == "request" else operation["responses"][place]
                _add(bodies["content"], example)
    for event, operations in document["webhooks"].items():
        if event in known["webhooks"]:
            _add(operations["post"]["requestBody"]["content"], known["webhooks"][event])


def _add(content: dict[str, Any], example: object) -> None:
    content["application/json"]["example"] = example
