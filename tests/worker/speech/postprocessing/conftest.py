"""A pool of post-processors on a folder store, and the same work in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.database.connections import open_artifacts
from storage.runtime.config.settings import StorageSettings
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.pool import PostProcessorPool

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    # With the tests in reach, for the texts that come from them.
    secret = "only-for-these-tests"
    return {"RHAPSODE_STORE": f"file://{folder}", "RHAPSODE_URL_SECRET": secret, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def pool(environment: dict[str, str]) -> Iterator[PostProcessorPool]:
    pool = PostProcessorPool(2, 6, "folder", "test", environment)
    pool.start()
    yield pool
    pool.close()


@pytest.fixture
def own(folder: Path, storage_settings: StorageSettings) -> InProcessPostProcessor:
    return InProcessPostProcessor(open_artifacts(storage_settings.model_copy(update={"store": f"file://{folder}"})))
