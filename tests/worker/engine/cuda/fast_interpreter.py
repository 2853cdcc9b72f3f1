"""Triton's interpreter without its repeated work, which is a third of the time that kernels take in it.

It puts its own functions into `triton.language` at every launch, as it must, and again at every call of one kernel
function by another, where they are already. Here the second is left out. Made for Triton 3.7.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from triton import language
from triton.runtime import interpreter


def patch_once_a_launch() -> None:
    """For this process. Changes nothing that a kernel computes."""
    interpreter._patch_lang = _OncePerLaunch(interpreter._patch_lang)  # pyright: ignore[reportPrivateUsage]


class _OncePerLaunch:
    def __init__(self, patch: Callable[[FunctionType], Any]) -> None:
        self._patch = patch
        self._patched: set[frozenset[str]] = set()

    def __call__(self, function: FunctionType) -> Any:
        """The first of a launch is the kernel's own, whose `restore` ends the launch. Nothing restores the others."""
        modules = frozenset(each.__name__ for each in function.__globals__.values() if _is_language(each))
        if modules in self._patched:
            return interpreter._LangPatchScope()  # pyright: ignore[reportPrivateUsage]
        is_launch = not self._patched
        scope = self._patch(function)
        self._patched.add(modules)
        if is_launch:
            scope.restore = self._ending(scope.restore)
        return scope

    def _ending(self, restore: Callable[[], None]) -> Callable[[], None]:
        def end() -> None:
            self._patched.clear()
            restore()

        return end


def _is_language(value: object) -> bool:
    return isinstance(value, ModuleType) and value in (language, language.core)
