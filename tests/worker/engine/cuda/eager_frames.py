"""Frame steps operation by operation, on any device: what graphs are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from worker.engine.cuda.talker.capture_plan import CapturePlan
from worker.engine.cuda.talker.decode.operations import Operations
from worker.engine.cuda.talker.frame_executor import LaunchedFrame, Packet
from worker.engine.cuda.talker.frame_step import FrameStep


class EagerFrames:
    """A `FrameExecutor` without graphs."""

    def __init__(self, step: FrameStep, plan: CapturePlan, operations: Operations, scratch_slot: int) -> None:
        self._step = step
        self._plan = plan
        self._operations = operations
        self._scratch_slot = scratch_slot

    @torch.inference_mode()
    def launch(self, slots: Sequence[int]) -> LaunchedFrame:
        padding = [self._scratch_slot] * (self._plan.rows_for(len(slots)) - len(slots))
        rows = torch.tensor([*slots, *padding], dtype=torch.int32, device=self._step.device)
        return _Done(self._step.run(rows, self._operations)[: len(slots)])


class _Done:
    def __init__(self, packet: Tensor) -> None:
        self._packet = packet

    def is_done(self) -> bool:
        return True

    def wait(self) -> Packet:
        return self._packet.cpu().numpy()
