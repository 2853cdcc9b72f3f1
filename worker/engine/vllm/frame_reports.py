"""What the steps have said, on the host: codes and ends of every slot, read without waiting for the newest step."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from worker.engine.interface import CodecFrames
from worker.engine.requests.request_state import RequestState, RowEnd

_SLOT, _STATUS = 0, -1


@dataclass(frozen=True, slots=True)
class _Report:
    """rows: int (B, Q + 2) on the host once `copied` has happened."""

    rows: Tensor
    copied: torch.cuda.Event | None

    def is_there(self) -> bool:
        return self.copied is None or self.copied.query()


class FrameReports:
    """Single-threaded. Slot 0 is of no request."""

    def __init__(self, num_slots: int, capacity: int, num_codebooks: int) -> None:
        self._codes = np.zeros((num_slots + 1, capacity, num_codebooks), dtype=np.int16)
        self._num_frames = np.zeros(num_slots + 1, dtype=np.int64)
        self._ends = [RowEnd.EOS] * (num_slots + 1)
        self._first_report = np.zeros(num_slots + 1, dtype=np.int64)
        self._reports: deque[_Report] = deque()
        self._num_read = 0

    def take(self, slot: int, request: RequestState) -> None:
        """The slot's next owner. Steps that were launched before say nothing about it."""
        self._first_report[slot] = self._num_read + len(self._reports)
        self._num_frames[slot] = request.num_prefix
        self._ends[slot] = RowEnd.RUNNING
        if request.prefix is not None:
            self._codes[slot, : request.num_prefix] = request.prefix

    def report(self, rows: Tensor) -> None:
        """Of a step that was just launched, int (B, Q + 2): the slot whose frame it made or 0, its codes, its
        `RowEnd`."""
        if rows.device.type == "cpu":
            self._reports.append(_Report(rows, None))
            return
        host = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True)
        host.copy_(rows, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()
        self._reports.append(_Report(host, copied))

    def collect(self) -> int:
        """Reads the reports that are there; the number of new frames."""
        num_frames = 0
        while self._reports and self._reports[0].is_there():
            rows = self._reports.popleft().rows.numpy()
            slots = rows[:, _SLOT]
            rows = rows[(slots != 0) & (self._first_report[slots] <= self._num_read)]
            self._num_read += 1
            is_frame = rows[:, _STATUS] == RowEnd.RUNNING
            for row in rows[~is_frame]:
                self._ends[row[_SLOT]] = RowEnd(int(row[_STATUS]))
            slots = rows[is_frame, _SLOT]
            self._codes[slots, self._num_frames[slots]] = rows[is_frame, 1:_STATUS]
            self._num_frames[slots] += 1
            num_frames += len(slots)
        return num_frames

    def count(self, slot: int) -> int:
        """Frames so far, those of the prefix among them."""
        return int(self._num_frames[slot])

    def end(self, slot: int) -> RowEnd:
        return self._ends[slot]

    def frames(self, slot: int, start: int) -> CodecFrames:
        """A copy of those from `start` on, (n, Q)."""
        return self._codes[slot, start : self._num_frames[slot]].copy()
