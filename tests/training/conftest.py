"""A training on one thread; what it changes of torch for its process is put back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def restored_torch() -> Iterator[None]:
    matmul, num_threads, state = torch.backends.cuda.matmul, torch.get_num_threads(), torch.get_rng_state()
    multiplies_tf32, convolves_tf32 = matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    benchmarks = torch.backends.cudnn.benchmark
    torch.set_num_threads(1)
    yield
    matmul.allow_tf32 = multiplies_tf32
    torch.backends.cudnn.allow_tf32 = convolves_tf32
    torch.backends.cudnn.benchmark = benchmarks
    torch.set_num_threads(num_threads)
    torch.set_rng_state(state)
