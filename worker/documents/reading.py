"""Read a document in a process of its own: parsers of what strangers send get bounded memory and time, and no doors."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from storage.script import Script
from storage.sources import DocumentFormat, Images
from worker.documents.errors import DocumentError
from worker.documents.wire import decode_answer

logger = logging.getLogger(__name__)

READER_COMMAND = (sys.executable, "-I", "-B", "-m", "worker.documents")
"""Isolated: neither the working folder nor PYTHONPATH decides what runs."""

PATIENCE_S = 180.0
_LOOK_S = 0.25
# What a dynamic loader or a locale may need; nothing that is named after us, no credentials.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")


class ReaderBroken(RuntimeError):
    """The reader does not run on this machine; the document is not to blame."""


def read_document(
    data: bytes,
    document_format: DocumentFormat,
    include: Sequence[str],
    check: Callable[[], None],
    command: Sequence[str] = READER_COMMAND,
    images: Images = Images.SKIP,
) -> Script:
    """The document's script. Takes a fifth of a second and what the parsing takes.

    check: called some times a second, and may raise to give up. Raises `DocumentError` or `ReaderBroken`.
    """
    # Files instead of pipes: a child gone wrong can neither block this process nor fill its memory.
    with tempfile.TemporaryFile() as file, tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as complaints:
        file.write(data)
        file.flush()
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        arguments = (*command, document_format.value, images.value, *include)
        with subprocess.Popen(arguments, stdin=file, stdout=answer, stderr=complaints, env=environment) as child:
            status = _wait(child, check)
        if status < 0:
            logger.warning("a document killed its reader", extra={"signal": -status})
            raise DocumentError("the document takes too much time or memory to read")
        if status > 0:
            complaints.seek(0)
            tail = complaints.read(100_000)[-500:].decode(errors="replace").strip()
            raise ReaderBroken(f"the reader of documents ended with status {status}: {tail}")
        answer.seek(0)
        return _script(answer.read())


def _wait(child: subprocess.Popen[bytes], check: Callable[[], None]) -> int:
    try:
        for _ in range(int(PATIENCE_S / _LOOK_S)):
            try:
                return child.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                check()
        raise DocumentError("the document takes too long to read")
    except BaseException:
        child.kill()
        raise


def _script(answer: bytes) -> Script:
    try:
        return decode_answer(answer)
    except DocumentError:
        raise
    except ValueError as error:
        raise ReaderBroken("the reader of documents gave no answer") from error
