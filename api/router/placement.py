"""Where something new belongs: weighted rendezvous hashing. Pure; every router with these settings says the same.

Each cell draws a number for a key, from nothing but the two names, and the lowest has it. So a cell that comes takes
its share from each of the others and moves nothing else, and one that goes leaves the rest where it is.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.router.cells import Cell, Fleet

CellChoice = int | tuple[str, ...]
"""Of one tenant: over how many cells its jobs are spread, or the names of its cells."""


@dataclass(frozen=True, slots=True)
class Placement:
    """choices: of the tenants that are not simply at one cell, which the hash names."""

    fleet: Fleet
    choices: Mapping[str, CellChoice]

    def homes(self, tenant: str) -> tuple[Cell, ...]:
        """The cells that take what is new of a tenant, at least one; never one that drains."""
        choice = self.choices.get(tenant, 1)
        ranked = ranking(self.fleet.active, tenant)
        if isinstance(choice, int):
            return ranked[:choice]
        return tuple(cell for cell in ranked if cell.name in choice) or ranked[:1]

    def every_cell(self, tenant: str) -> tuple[Cell, ...]:
        """All cells in the order in which something of a tenant is looked for: its homes, then the others."""
        homes = self.homes(tenant)
        return (*homes, *(cell for cell in ranking(self.fleet, tenant) if cell not in homes))


def ranking(cells: Iterable[Cell], key: str) -> tuple[Cell, ...]:
    """The cells by how much they are the key's, the first most of all."""
    return tuple(sorted(cells, key=lambda cell: (_draw(cell, key), cell.name)))


def place(homes: Sequence[Cell], tenant: str, key: str) -> Cell:
    """Which of a tenant's homes takes what goes by `key`."""
    return ranking(homes, f"{tenant}\n{key}")[0]


def _draw(cell: Cell, key: str) -> float:
    """Exponentially distributed, with the cell's weight as its rate: each is lowest as often as its weight says."""
    digest = hashlib.blake2b(f"{cell.name}\n{key}".encode(), digest_size=8).digest()
    uniform = (int.from_bytes(digest) + 0.5) / 2**64
    return -math.log(uniform) / cell.weight
