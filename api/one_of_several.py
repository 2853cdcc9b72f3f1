"""One of several API processes at one port: `python -m api.one_of_several --metrics DIR --number 0 --fd 5`.

What a process knows is in Redis, so that any of them answers for all; what it measures is in the folder, for the same
reason. All accept from one listening socket, so that a connection never waits for a process that is away.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from storage.runtime.observability.shared_metrics import share_metrics


def main(arguments: Sequence[str] | None = None) -> None:
    """As `api.server`, whose arguments follow."""
    parser = argparse.ArgumentParser(prog="python -m api.one_of_several", description=__doc__)
    parser.add_argument("--metrics", type=Path, required=True, help="the folder that they share")
    parser.add_argument("--number", type=int, required=True, help="of this one among them")
    given, of_the_server = parser.parse_known_args(arguments)
    share_metrics(given.metrics, given.number)
    # Instruments are made where they are imported, and must be shared by then.
    from api.server import main as serve

    serve(of_the_server)


if __name__ == "__main__":
    main()
