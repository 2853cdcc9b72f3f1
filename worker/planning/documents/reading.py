"""Read a document in a process of its own: parsers of what strangers send get bounded memory and time, and no doors."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Callable, Sequence

from storage.narration.script.script import Script
from storage.narration.sources import DocumentFormat, Images
from storage.runtime.fork_server.client import Ended, Reading, Zygote
from storage.runtime.fork_server.server_process import ZygoteBroken
from worker.planning.documents.errors import DocumentError
from worker.planning.documents.limits import LIMITS
from worker.planning.documents.protocol import decode_answer

logger = logging.getLogger(__name__)

PATIENCE_S = 180.0

READERS = Zygote((sys.executable, "-I", "-B", "-m", "worker.planning.documents"))
"""This process's. Isolated: neither the working folder nor PYTHONPATH decides what runs."""


class ReaderBroken(RuntimeError):
    """The reader does not run on this machine; the document is not to blame."""


def read_document(
    data: bytes,
    document_format: DocumentFormat,
    include: Sequence[str],
    check: Callable[[], None],
    readers: Zygote = READERS,
    images: Images = Images.SKIP,
) -> Script:
    """The document's script. Takes what the parsing takes; the first one a fifth of a second more.

    check: called some times a second, and may raise to give up. Raises `DocumentError` or `ReaderBroken`.
    """
    arguments = (document_format.value, images.value, *include)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        ended = _run(readers, Reading(arguments, file, LIMITS.output_bytes, PATIENCE_S, check))
    _require_end(ended)
    return _script(ended.answer)


def _run(readers: Zygote, reading: Reading) -> Ended:
    try:
        return readers.run(reading)
    except TimeoutError as error:
        raise DocumentError("the document takes too long to read") from error
    except ZygoteBroken as error:
        raise ReaderBroken(f"the reader of documents does not run: {error}") from error


def _require_end(ended: Ended) -> None:
    if ended.status < 0:
        logger.warning("a document killed its reader", extra={"signal": -ended.status})
        raise DocumentError("the document takes too much time or memory to read")
    if ended.status > 0:
        raise ReaderBroken(f"the reader of documents ended with status {ended.status}: {ended.complaints}")


def _script(answer: bytes) -> Script:
    try:
        return decode_answer(answer)
    except DocumentError:
        raise
    except ValueError as error:
        raise ReaderBroken("the reader of documents gave no answer") from error
