"""Whether the counters are right: a count from the jobs themselves, in steps, while others work on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

from storage.errors import RecountOvertaken
from storage.job_store.scripts import JobScripts

RECOUNT_BATCH = 40
"""Jobs of one step of a recount: about a millisecond of the server's time."""


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    expected: int
    actual: int


@dataclass(frozen=True, slots=True)
class Drift:
    """Counters that do not equal a recount. Empty unless there is a bug or somebody edited Redis."""

    differences: tuple[Difference, ...]


class Recounts(JobScripts):
    """The part of the job store that counts again."""

    def recount(self) -> Drift:
        """Compare every counter with a count from the jobs themselves; repairs nothing.

        Raises `RecountOvertaken` if another recount began meanwhile.
        """
        return Drift(tuple(difference for found in self.recount_steps(RECOUNT_BATCH) for difference in found))

    def mend_counters(self) -> Drift:
        """As `recount`, and every counter gets what was counted, in the same call; returns what differed before."""
        return Drift(tuple(each for found in self._recounted(RECOUNT_BATCH, "1") for each in found))

    def recount_steps(self, batch: int) -> Iterator[list[Difference]]:
        """A recount as its steps, of about `batch` jobs each; gives what each has found.

        Others work on in between, and the result is exact nevertheless: what has been counted is followed.
        """
        return self._recounted(batch, "")

    def _recounted(self, batch: int, mends: str) -> Iterator[list[Difference]]:
        epoch, cursor = uuid4().hex, ""
        while cursor != "0":
            reply = self._run("recount", epoch, cursor, batch, mends)
            if reply[0] == "overtaken":
                raise RecountOvertaken
            cursor, *rows = (str(part) for part in reply[2:])
            yield [
                Difference(name, int(expected), int(actual))
                for name, expected, actual in zip(rows[::3], rows[1::3], rows[2::3], strict=True)
            ]
