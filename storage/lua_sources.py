"""The texts of the Lua scripts, and of what several of them have in front."""

from __future__ import annotations

from importlib import resources


def lua_source(name: str) -> str:
    """What stands in `scripts/NAME.lua`."""
    return resources.files("storage").joinpath("scripts", f"{name}.lua").read_text(encoding="utf-8")
