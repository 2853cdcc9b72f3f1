"""Draft a plan in a separate process, with bounded memory and time and without a network."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable

from reading.drafting.draft import Draft
from rhapsode.contract.jobs.input import SourceType
from storage.runtime.fork_server.client import ChildEnd, ChildTask, ForkServer
from storage.runtime.fork_server.server_process import ForkServerBroken
from storage.runtime.own_module import isolated
from worker.errors import unusable
from worker.planning.drafting.draft import DraftRequest, draft_plan
from worker.planning.drafting.limits import LIMITS, PATIENCE_S, TOO_COMPLEX
from worker.planning.drafting.protocol import decode_answer, write_request

logger = logging.getLogger(__name__)

DRAFTERS = ForkServer(isolated("worker.planning.drafting"))
"""This process's."""


SHORT_BYTES = 1_000
"""The length of a plain text that is drafted without a process, which would cost ten times as much. In so few
characters, quadratic time stays small.
"""


class DrafterBroken(RuntimeError):
    """The process does not run on this machine; the input is not to blame."""


def draft_bounded(request: DraftRequest, check: Callable[[], None]) -> Draft:
    """As `draft_apart`, for all but short texts."""
    is_plain = request.spec.request.input.type is SourceType.TEXT and not request.dictionaries
    if is_plain and len(request.data) <= SHORT_BYTES:
        return draft_plan(request)
    return draft_apart(request, check)


def draft_apart(request: DraftRequest, check: Callable[[], None], drafters: ForkServer = DRAFTERS) -> Draft:
    """As `draft_plan`. Takes what that takes; the first one half a second more.

    check: called some times a second, and may raise to give up. Raises `PermanentItemError` or `DrafterBroken`.
    """
    with tempfile.TemporaryFile() as file:
        write_request(request, file)
        ended = _run(drafters, ChildTask((), file, LIMITS.output_bytes, PATIENCE_S, check))
    _require_end(ended)
    return _draft(ended.answer)


def _run(drafters: ForkServer, reading: ChildTask) -> ChildEnd:
    try:
        return drafters.run(reading)
    except TimeoutError as error:
        logger.warning("an input took too long to read")
        raise unusable(*TOO_COMPLEX) from error
    except ForkServerBroken as error:
        raise DrafterBroken(f"what drafts plans does not run: {error}") from error


def _require_end(ended: ChildEnd) -> None:
    if ended.status < 0:
        logger.warning("an input killed its reader", extra={"signal": -ended.status})
        raise unusable(*TOO_COMPLEX)
    if ended.status > 0:
        raise DrafterBroken(f"what drafts plans ended with status {ended.status}: {ended.complaints}")


def _draft(answer: bytes) -> Draft:
    try:
        return decode_answer(answer)
    except ValueError as error:
        raise DrafterBroken("what drafts plans gave no answer") from error
