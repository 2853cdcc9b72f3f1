"""Packed codes as small files to keep, and back.

    python -m training.talker.archive pack --packed PACKED --archives ARCHIVES
    python -m training.talker.archive unpack --packed PACKED --archives ARCHIVES

Nine bits a code, the rest deflated: 17 bytes a frame, 0.8 MB an hour. Each archive holds whole files of PACKED and
stays below 16 MB. To be run when the packing is over: archives that are there are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.steps import run_step, step_parser

_BITS = 9
_MOST_FRAMES = 820_000


def main(argv: Sequence[str] | None = None) -> None:
    parser = step_parser(__doc__)
    parser.add_argument("direction", choices=("pack", "unpack"))
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--archives", type=Path, required=True)
    arguments = parser.parse_args(argv)
    if arguments.direction == "pack":
        arguments.archives.mkdir(parents=True, exist_ok=True)
        pack(arguments.packed, arguments.archives)
    else:
        arguments.packed.mkdir(parents=True, exist_ok=True)
        unpack(arguments.archives, arguments.packed)


def pack(packed: Path, archives: Path) -> None:
    group: list[dict[str, Tensor]] = []
    number = frames = 0
    for path in sorted(packed.glob("*.pt")):
        part: dict[str, Tensor] = torch.load(path)
        if group and frames + len(part["codes"]) > _MOST_FRAMES:
            _write(archives / f"codes-{number:02d}.npz", group)
            number, frames, group = number + 1, 0, []
        group.append(part)
        frames += len(part["codes"])
    if group:
        _write(archives / f"codes-{number:02d}.npz", group)


def unpack(archives: Path, packed: Path) -> None:
    for number, path in enumerate(sorted(archives.glob("codes-*.npz"))):
        with np.load(path) as arrays:
            flat = {name: torch.from_numpy(arrays[name]) for name in arrays.files if name != "bits"}
            flat["codes"] = torch.from_numpy(_codes(arrays["bits"], len(flat["phones"])))
        torch.save(flat, packed / f"{number:04d}.pt")


def _write(path: Path, group: Sequence[dict[str, Tensor]]) -> None:
    if path.exists():
        return
    flat = {name: torch.cat([part[name] for part in group]).numpy() for name in group[0]}
    bits = _bits(flat.pop("codes"))
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.savez_compressed(file, bits=bits, allow_pickle=False, **flat)
    temporary.replace(path)


def _bits(codes: NDArray[np.int16]) -> NDArray[np.uint8]:
    planes = (codes.reshape(-1, 1) >> np.arange(_BITS)) & 1
    return np.packbits(planes.astype(np.uint8))


def _codes(bits: NDArray[np.uint8], frames: int) -> NDArray[np.int16]:
    """(frames, codebooks)."""
    planes = np.unpackbits(bits)
    planes = planes[: len(planes) // _BITS * _BITS].reshape(-1, _BITS)
    codes = (planes.astype(np.int16) << np.arange(_BITS, dtype=np.int16)).sum(1, dtype=np.int16)
    codebooks = len(codes) // frames
    return codes[: frames * codebooks].reshape(frames, codebooks)


if __name__ == "__main__":
    run_step(main)
