"""A Celery worker for an app of ours, whatever lies in the folder where it is started.

    python -m worker.process.celery_command APP [OPTION ...]

The options are those of `celery worker`. Celery's own command would put the working directory before all packages while
it looks for the app. So a `worker` or a `storage` there would replace ours. It also loads all its other commands, 200
modules that a worker does not use.
"""

from __future__ import annotations

import sys
from importlib import import_module

from celery.bin.base import CLIContext
from celery.bin.worker import worker

from worker.process.successor import SUCCESSION


def main() -> None:
    name, *options = sys.argv[1:]
    context = CLIContext(import_module(name).app, no_color=False, workdir=None, quiet=True)
    try:
        worker.main(options, prog_name="celery worker", obj=context, auto_envvar_prefix="CELERY_WORKER")
    except SystemExit as ended:
        if not ended.code:
            SUCCESSION.become()
        raise


if __name__ == "__main__":
    main()
