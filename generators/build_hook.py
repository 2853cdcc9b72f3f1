"""Hatchling runs this for each wheel and each install: what is not in git is made, and belongs to the package."""

from __future__ import annotations

import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MadeFiles(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        sys.path.insert(0, self.root)
        from generators.at_install import made_at_install, write_made_files
        from generators.sync_client import MADE, write_sync_client

        write_sync_client()
        write_made_files()
        build_data["artifacts"] += [f"{MADE}/*.py", *map(str, made_at_install())]
