"""What one submit costs step by step: CPU of the API's own thread, without HTTP and without another submit beside it.

    python -m benchmarks.api.submit_steps [--submits 500] [--dir FOLDER]

The steps are those of `api.jobs.submission.submission`, in their order, called one by one against a real Valkey and a
folder store. The median of each is told, and so is the whole handler as the route calls it. What HTTP adds is the
difference to `benchmarks/api/submit.py`.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio

from api.acceptance.acceptance import Accepted, find_response
from api.http.idempotency_key import idempotency_key
from api.http.links import LinkBuilder
from api.jobs.answers.answers import accepted_answer
from api.jobs.submission.submission import SubmissionCall, parse_job_request, resolve_submission, submit_narration
from api.services.container import ApiServices, open_services
from api.settings import ApiSettings
from benchmarks.api.served_api import CARD
from storage.database.embedded_valkey import EmbeddedRedis
from storage.ids import TenantId, new_job_id
from tests.run_guard import guarded_run

TENANT = TenantId("bench")
LINKS = LinkBuilder("http://127.0.0.1:8765")
T = TypeVar("T")


class Steps:
    """CPU seconds of this thread, by step."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}

    def run(self, name: str, call: Callable[[], T]) -> T:
        started = time.thread_time()
        answer = call()
        self._times.setdefault(name, []).append(time.thread_time() - started)
        return answer

    def print_rows(self) -> None:
        for name, times in self._times.items():
            print(f"{name:<44} {statistics.median(times) * 1e6:>7.0f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submits", type=int, default=500)
    parser.add_argument("--dir", type=Path, help="where the store lies; a file system of one's own is best")
    anyio.run(measure, parser.parse_args())


async def measure(options: argparse.Namespace) -> None:
    with (
        guarded_run() as folder,
        tempfile.TemporaryDirectory(prefix="rhapsode-", dir=options.dir) as store,
        EmbeddedRedis(folder / "valkey") as server,
    ):
        settings = ApiSettings.model_validate(
            {
                "redis_url": server.url,
                "broker_url": server.broker_url,
                "store": f"file://{store}",
                "url_secret": secrets.token_hex(16),
            }
        )
        async with open_services(settings) as services:
            services.models.publish(CARD)
            for _ in range(50):
                submit_in_steps(services, Steps())
            steps = Steps()
            for _ in range(options.submits):
                submit_in_steps(services, steps)
            for _ in range(options.submits):
                call = new_call()
                steps.run("all of it at once", lambda call=call: submit_at_once(services, call))
            steps.print_rows()


def submit_in_steps(services: ApiServices, steps: Steps) -> None:
    call, job = new_call(), new_job_id()
    steps.run("is it a repeat (Redis)", lambda: find_response(services, TENANT, call.idempotency))
    request = steps.run("parse and validate", lambda: parse_job_request(call.body, services.settings.max_text_chars))
    resolved = steps.run("model, voice, spec (Redis)", lambda: resolve_submission(services, TENANT, request, job, []))
    submission = replace(resolved.submission, idempotency=call.idempotency)
    steps.run(
        "put the text (1 fsync)", lambda: services.artifacts.put_unread(submission.input_key, resolved.stored_input())
    )
    submitted = steps.run(
        "submit, place and their answers (Redis)",
        lambda: services.jobs.submit_placed(submission, services.queue_positions),
    )
    steps.run("a line for the journal", lambda: services.journal.add(submission))
    steps.run("a ticket (broker)", lambda: services.tickets.send(submitted.tickets))
    accepted = Accepted(submitted.job, submitted.replayed, submitted.place)
    steps.run("view, JSON", lambda: accepted_answer(services, LINKS, accepted))


def submit_at_once(services: ApiServices, call: SubmissionCall) -> None:
    """As the route does."""
    accepted_answer(services, LINKS, submit_narration(services, call))


def new_call() -> SubmissionCall:
    text = f"The lamp in the hall was lit, and nobody could say who had come down to do it. {secrets.token_hex(4)}"
    body = json.dumps({"input": {"text": text}, "segmentation": {"target_chars": 160}}).encode()
    return SubmissionCall(TENANT, body, idempotency_key(secrets.token_hex(16), body), LINKS.base)


if __name__ == "__main__":
    main()
