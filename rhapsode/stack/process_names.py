"""What the processes of a stack are called: one of a kind by its kind, several with their number after it."""

from __future__ import annotations

VALKEY = "valkey"
API = "api"
GPU_WORKER = "gpu-worker"
CPU_WORKER = "cpu-worker"
HOOKS_WORKER = "hooks-worker"
JANITOR = "janitor"

CPU_WORKER_THREADS = 4


def process_name(kind: str, number: int, how_many: int) -> str:
    return kind if how_many == 1 else f"{kind}-{number}"
