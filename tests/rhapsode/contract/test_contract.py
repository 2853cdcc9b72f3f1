"""The contract is the bottom layer, and one class says what an answer is to the server and to the client."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

import rhapsode.contract
from rhapsode.contract.base import Answer
from rhapsode.contract.operators.fleet import QueueClass
from rhapsode.contract.webhooks import WebhookSecret

FOLDER = Path(rhapsode.contract.__file__).parent
SOURCES = sorted(FOLDER.rglob("*.py"))
CLIENT = FOLDER.parent / "client"


def imported(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(FOLDER)))
def test_it_imports_pydantic_and_the_standard_library_alone(source: Path) -> None:
    allowed = sys.stdlib_module_names | {"pydantic", "pydantic_core"}

    others = {name for name in imported(source) if name.partition(".")[0] not in allowed}

    assert {name for name in others if not name.startswith("rhapsode.contract.")} == set()


def test_a_client_reads_what_a_server_writes_and_overlooks_what_a_newer_one_adds() -> None:
    written = QueueClass(job_class="bulk", backlog_audio_s=1.5, jobs=1, tenants=1, oldest_wait_s=None)
    sent = written.model_dump(mode="json", by_alias=True)
    assert sent["class"] == "bulk"

    assert QueueClass.model_validate({**sent, "added_later": 1}) == written


def test_an_answer_that_lacks_a_field_is_none_of_ours() -> None:
    with pytest.raises(ValidationError, match="old_secrets_expire_at"):
        WebhookSecret.model_validate({"secret": None})


def answers() -> list[type[Answer]]:
    for module in pkgutil.walk_packages(rhapsode.contract.__path__, "rhapsode.contract."):
        importlib.import_module(module.name)
    found = [Answer]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__.startswith("rhapsode.contract.")]


def test_no_answer_can_be_changed_after_it_was_made() -> None:
    kinds = answers()
    assert len(kinds) > 80

    lists = {
        f"{kind.__name__}.{name}"
        for kind in kinds
        for name, field in kind.model_fields.items()
        if "list[" in str(field.annotation)
    }
    assert {kind.__name__ for kind in kinds if not kind.model_config.get("frozen")} == set()
    assert lists == set()


REPEATED = frozenset({"CreatedApiKey", "CreatedWebhookEndpoint", "Job", "JobEvent", "PageOfJobs", "SetWebhookSecret"})
"""Those of the client that say more than the contract: methods, a secret that is there, an event with its id."""


def test_the_client_has_no_answers_of_its_own_but_those_that_say_more() -> None:
    classes = {
        node.name
        for source in CLIENT.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.ClassDef)
        and {ast.unparse(base).rpartition(".")[2] for base in node.bases} & {kind.__name__ for kind in answers()}
    }

    assert classes == REPEATED


CALLERS_OWN = frozenset(
    {
        "BatchResult.custom_id",
        "Model.id",
        "NamedChoice.id",
        "PlannedChapter.id",
        "PlannedSegment.id",
        "ProblemDocument.request_id",
        "Segment.source_id",
        "SpokenBatch.id",
        "UsageRow.key_id",
    }
)
"""Ids that callers and operators choose. The client names no file after them, or looks at each before it does."""


def test_an_id_of_an_answer_names_no_other_place() -> None:
    formless = {
        f"{kind.__name__}.{name}"
        for kind in answers()
        for name, field in kind.model_fields.items()
        if (name == "id" or name.endswith("_id")) and "pattern=" not in repr(field)
    }

    assert formless == CALLERS_OWN
