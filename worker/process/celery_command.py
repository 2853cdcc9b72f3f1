"""Celery's command line for an app of ours, whatever lies in the folder where it is started.

    python -m worker.process.celery_command APP [ARGUMENT ...]

Celery puts the working directory before all packages while it looks for its app, so that a `worker` or a `storage`
there would stand for ours. What is loaded by then it does not look for.
"""

from __future__ import annotations

import sys
from importlib import import_module

from celery.__main__ import main as celery_main


def main() -> None:
    app, *arguments = sys.argv[1:]
    import_module(app)
    sys.argv = ["celery", "--quiet", "--app", app, *arguments]
    celery_main()


if __name__ == "__main__":
    main()
