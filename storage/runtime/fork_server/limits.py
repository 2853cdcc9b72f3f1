"""What a child may still do: compute, for a while, in bounded memory, and write so much."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass

MOST_DESCRIPTORS = 4_096
"""Open in a fork server: one for each child under way, and some more while it begins."""


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """memory_bytes: of address space, with what the fork server had loaded. output_bytes: of any one file."""

    memory_bytes: int
    cpu_s: int
    output_bytes: int

    def apply(self) -> None:
        """Before anything of the file is read."""
        _lower(resource.RLIMIT_CPU, self.cpu_s)
        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_FSIZE, self.output_bytes)
        if sys.platform == "linux":  # elsewhere the limit is refused or not kept
            _lower(resource.RLIMIT_AS, self.memory_bytes)


def bound_descriptors() -> None:
    """Of a fork server, before its first child, which closes every number that there may be.

    An interpreter built for an old C library closes them one by one. A million takes a tenth of a second, and without a
    limit a child would never reach its file.
    """
    _lower(resource.RLIMIT_NOFILE, MOST_DESCRIPTORS)


def close_the_doors() -> None:
    """After the last import: no further descriptor, so neither file nor socket can be opened, and no new process."""
    _lower(resource.RLIMIT_NOFILE, 0)
    _lower(resource.RLIMIT_NPROC, 0)


def _lower(limit: int, value: int) -> None:
    _, most = resource.getrlimit(limit)
    wanted = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(limit, (wanted, wanted))
