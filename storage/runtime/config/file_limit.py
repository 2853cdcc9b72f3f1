"""How many files and sockets this process may hold open."""

from __future__ import annotations

import resource


def allow_files(num_files: int) -> int:
    """Raise this process's limit as far as it may: the usual 1,024 is fewer than a busy process has connections.

    How many of these it may hold open now.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = num_files if hard == resource.RLIM_INFINITY else min(num_files, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most
