"""`rhapsode backup` and `rhapsode restore`: the data folder of `rhapsode up`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rhapsode.cli.failures import Misuse
from rhapsode.cli.options import DataDirOption, choose_data_dir, read_settings
from rhapsode.cli.visible import echo

ELSEWHERE = ("RHAPSODE_REDIS_URL", "RHAPSODE_STORE")


def backup(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    data_dir: DataDirOption = None,
) -> None:
    """Back up the data of `rhapsode up`. Server and jobs may run meanwhile.

    It saves jobs, voices, keys, secrets and audio, without settings and pulled models. Use another disk: on the same
    one, audio is only linked and would be lost with it.
    """
    from rhapsode.stack.backup import back_up

    for name in ELSEWHERE:
        if os.environ.get(name):
            raise Misuse(f"{name} keeps data outside the data folder: back that up where it is")
    target = folder.expanduser().resolve()
    back_up(choose_data_dir(data_dir, read_settings()), target)
    echo(f"{target}: rhapsode restore {target} --data-dir NEW")


def restore(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of `rhapsode backup`.")],
    data_dir: DataDirOption = None,
) -> None:
    """Make a data folder from a backup. It must be new or empty.

    `rhapsode up` on it then finishes the jobs. They lose what changed after the backup.
    """
    from rhapsode.stack import backup as backups

    target = choose_data_dir(data_dir, read_settings())
    backups.restore(folder.expanduser().resolve(), target)
    echo(f"{target.root}: rhapsode up --data-dir {target.root}")
