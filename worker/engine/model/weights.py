"""Published tensors into modules: every tensor has a place, every place gets its tensor.

Knows names and shapes only; what a tensor means is the business of the module that owns it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from worker.engine.errors import CheckpointError

_NAMES_SHOWN = 8

M = TypeVar("M", bound=nn.Module)


class StackedModule(nn.Module, ABC):
    """A module that keeps several published tensors in one tensor, so that one product serves them all.

    Its own parameters are invisible to `load_strict`; the published tensors are its views.
    """

    @abstractmethod
    def published_views(self) -> Mapping[str, Tensor]:
        """Published name, relative to the *parent* module -> the view of our storage that holds it."""


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file, on the CPU, in the file's dtypes.

    Raises CheckpointError with the path when the file is missing or not safetensors.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot read the weights in {path}: {error}") from error


@torch.no_grad()
def read_rows(path: Path, name: str, rows: Sequence[int]) -> Tensor:
    """Single rows of a matrix, of which the rest stays where it is. Raises CheckpointError as `read_tensors` does."""
    try:
        with safe_open(path, "pt") as file:
            matrix = file.get_slice(name)
            return torch.stack([matrix[row] for row in rows])
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot read {name} of {path}: {error}") from error


def loaded(
    make: Callable[[], M],
    tensors: Mapping[str, Tensor],
    source: str,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> M:
    """The module that `make` builds, with the published tensors, to run and not to train; by default on the CPU.

    Raises CheckpointError as `load_strict` does.
    """
    with torch.device("meta"):  # nothing is initialised that loading overwrites
        module = make()
    module = module.to(dtype).to_empty(device=device or torch.device("cpu"))
    load_strict(module, tensors, source)
    return module.requires_grad_(requires_grad=False).eval()


@torch.no_grad()
def load_strict(module: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Copy `tensors` into the module, cast to the module's dtypes.

    Raises CheckpointError naming the tensors when the key sets or a shape differ; the module is then untouched.
    """
    require_published(module, tensors, source)
    for name, target in _published_targets(module).items():
        target.copy_(tensors[name])


def require_published(module: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Raises CheckpointError as `load_strict` does. The module may be on the meta device."""
    targets = _published_targets(module)
    _require_same_names(targets, tensors, source)
    _require_same_shapes(targets, tensors, source)


def tensors_under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names start with `prefix`, named without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _published_targets(module: nn.Module) -> dict[str, Tensor]:
    targets: dict[str, Tensor] = dict(module.state_dict(keep_vars=True))
    for path, child in module.named_modules():
        if not isinstance(child, StackedModule):
            continue
        for own in child.state_dict():
            del targets[f"{path}.{own}"]
        parent = path.rpartition(".")[0]
        for name, view in child.published_views().items():
            targets[f"{parent}.{name}" if parent else name] = view
    return targets


def _require_same_names(targets: Mapping[str, Tensor], tensors: Mapping[str, Tensor], source: str) -> None:
    complaints = [
        f"{len(names)} {kind} tensors: {_listed(names)}"
        for kind, names in (
            ("missing", sorted(targets.keys() - tensors.keys())),
            ("unknown", sorted(tensors.keys() - targets.keys())),
        )
        if names
    ]
    if complaints:
        raise CheckpointError(f"{source} has {'; '.join(complaints)}")


def _require_same_shapes(targets: Mapping[str, Tensor], tensors: Mapping[str, Tensor], source: str) -> None:
    wrong = [
        f"{name} is {tuple(tensors[name].shape)}, should be {tuple(target.shape)}"
        for name, target in targets.items()
        if tensors[name].shape != target.shape
    ]
    if wrong:
        raise CheckpointError(f"{source} has {len(wrong)} misshapen tensors: {_listed(wrong)}")


def _listed(names: list[str]) -> str:
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
