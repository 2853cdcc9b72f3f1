"""The fork server of processes that draft plans: a request on standard input, its draft on standard output.

    python -m worker.planning.drafting    (started by `process`)

Messages are as `protocol` has them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from reading.drafting.lines import encode_lines
from reading.languages.names import NORMALIZED_LANGUAGES
from rhapsode.contract.jobs.input import DocumentFormat, NarrationInput, Normalization, SourceType
from rhapsode.contract.jobs.narration import Narration
from storage.jobs.record import JobError
from storage.narration.spec import NarrationSpec
from storage.runtime.fork_server.server import serve
from worker.errors import PermanentItemError
from worker.planning.drafting.draft import DraftRequest, draft_plan
from worker.planning.drafting.limits import LIMITS, TOO_COMPLEX
from worker.planning.drafting.protocol import encode_draft, encode_refusal, read_request


def main() -> None:
    load_everything()
    serve(answer, LIMITS)


def load_everything() -> None:
    """What is imported or read at first use must have been used by now, as children can open nothing."""
    document = NarrationInput(type=SourceType.DOCUMENT, format=DocumentFormat.MARKDOWN, find_speakers=True)
    lines = encode_lines({"00000000": "somebody"})
    for language in NORMALIZED_LANGUAGES:
        request = Narration(model="", voice="", language=language, normalization=Normalization.BASIC, input=document)
        draft_plan(DraftRequest(NarrationSpec(request), b'# One\n\n"Two," said Al, on the 3rd. 5 km!', lines=lines))


def answer(arguments: Sequence[str]) -> None:
    try:
        said = encode_draft(draft_plan(read_request(sys.stdin.buffer)))
    except PermanentItemError as failure:
        said = encode_refusal(failure.error)
    except (MemoryError, RecursionError):
        said = encode_refusal(JobError(*TOO_COMPLEX))
    sys.stdout.buffer.write(said)


if __name__ == "__main__":
    main()
