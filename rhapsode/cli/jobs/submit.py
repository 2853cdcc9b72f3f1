"""`rhapsode jobs submit`: a job as the JSON of the API, for fields without an option in `rhapsode narrate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rhapsode.cli.clients import CommonOptions, connected
from rhapsode.cli.failures import FAILED, Misuse
from rhapsode.cli.job_fields import check
from rhapsode.cli.jobs.waiting import WaitOption, watched
from rhapsode.cli.narrate.sent_files import reading
from rhapsode.cli.options import IdempotencyOption
from rhapsode.cli.visible import echo

if TYPE_CHECKING:
    from rhapsode.client.request_options import JobInputFields, JobOptions

STDIN = "-"


def submit(
    common: CommonOptions,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The JSON body of `POST /v1/jobs`; - reads standard input.")
    ],
    idempotency_key: IdempotencyOption = None,
    wait: WaitOption = False,
) -> None:
    """Submit a job from JSON and print its id.

    `rhapsode narrate --detach` submits a text or a book. For instance: echo '{"input": {"text": "Hello."}, "voice":
    "af_heart"}' | rhapsode jobs submit -
    """
    spoken, options = _request(file)
    with connected(common) as client:
        job = client.submit_job(spoken, idempotency_key=idempotency_key, **options)
        if wait:
            echo(job.id, err=True)
            job = watched(client, job.id)
    reason = f": {job.error.detail} ({job.error.code})" if job.error else ""
    line = f"{job.id} {job.state}{reason}" if wait else job.id
    common.echo(job, line)
    if wait and job.state != "succeeded":
        raise typer.Exit(FAILED)


def _request(file: str) -> tuple[JobInputFields, JobOptions]:
    """The input and the other fields. Raises `Misuse` for an invalid body."""
    from pydantic_core import from_json

    from rhapsode.contract.jobs.request import JobRequest

    place = "standard input" if file == STDIN else file
    with reading(place):
        data = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    try:
        body: Any = from_json(data)
    except ValueError as error:
        raise Misuse(f"{place} is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise Misuse(f"{place} is not a JSON object, which `POST /v1/jobs` needs")
    request = cast("dict[str, Any]", body)
    check(JobRequest, request, ())
    if request.pop("validate_only", False):
        raise Misuse(f"{place}: validate_only makes no job; `rhapsode plan` shows what would be spoken")
    return cast("JobInputFields", request.pop("input")), cast("JobOptions", request)
