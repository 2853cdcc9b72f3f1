"""What the process that reads a document may still do: compute, for a while, in bounded memory."""

from __future__ import annotations

import resource
import sys

MAX_MEMORY_BYTES = 2 << 30
MAX_CPU_S = 120
MAX_ANSWER_BYTES = 256 << 20


def limit_resources() -> None:
    """Before anything of the document is read."""
    _lower(resource.RLIMIT_CPU, MAX_CPU_S)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, MAX_ANSWER_BYTES)
    if sys.platform == "linux":  # elsewhere the limit is refused or not kept
        _lower(resource.RLIMIT_AS, MAX_MEMORY_BYTES)


def close_the_doors() -> None:
    """After the last import: no further descriptor, so neither file nor socket can be opened, and no new process."""
    _lower(resource.RLIMIT_NOFILE, 0)
    _lower(resource.RLIMIT_NPROC, 0)


def _lower(limit: int, value: int) -> None:
    _, most = resource.getrlimit(limit)
    wanted = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(limit, (wanted, wanted))
