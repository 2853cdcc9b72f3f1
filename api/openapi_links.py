"""Which operation goes on with what another has made: OpenAPI links, for people, generators and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OF_JOB = ("get_job", "cancel_job", "pause_job", "follow_job", "list_segments", "list_artifacts", "delete_job")

LINKS: Mapping[tuple[str, str], tuple[str, str, Iterable[str]]] = {
    ("submit_job", "202"): ("job_id", "id", (*_OF_JOB, "change_job")),
    ("put_job", "202"): ("job_id", "id", _OF_JOB),
    ("retry_job", "202"): ("job_id", "id", ("get_job",)),
    ("post_batch", "202"): ("batch_id", "id", ("get_batch", "get_results", "cancel_batch", "delete_batch")),
    ("post_preview", "202"): ("job_id", "id", ("get_job",)),
    ("post_upload", "201"): ("upload_id", "id", ("get_upload", "delete_upload")),
    ("post_voice", "201"): ("voice_id", "id", ("get_voice", "patch_voice", "order_voice_cache", "delete_voice")),
    ("blend", "201"): ("voice_id", "id", ("get_voice", "delete_voice")),
    ("post_dictionary", "201"): ("dictionary_id", "id", ("get_dictionary", "post_version", "delete_dictionary")),
    ("post_endpoint", "201"): (
        "endpoint_id",
        "id",
        (
            *("get_endpoint", "patch_endpoint", "disable_endpoint", "enable_endpoint", "rotate_secret"),
            *("test_endpoint", "list_deliveries", "delete_endpoint"),
        ),
    ),
    ("test_endpoint", "202"): ("delivery_id", "id", ("get_delivery",)),
    ("post_key", "201"): ("key_id", "id", ("revoke_key",)),
}
"""(operationId, status) -> the parameter of the next operations, the field that it comes from, and these."""


def add_links(document: dict[str, Any]) -> None:
    operations = {each["operationId"]: each for path in document["paths"].values() for each in path.values()}
    for (operation, status), (parameter, field, targets) in LINKS.items():
        operations[operation]["responses"][status]["links"] = {
            target: {"operationId": target, "parameters": {parameter: f"$response.body#/{field}"}} for target in targets
        }
