"""Tells vLLM of the talker: the entry point in `vllm.general_plugins`, which vLLM calls in each of its processes.

It does so wherever Rhapsode is installed, so also in processes that serve another model and are none of ours.
"""

from __future__ import annotations

import logging
from importlib import import_module

from rhapsode import system_packages

logger = logging.getLogger(__name__)

ENGINE = "worker.engine.vllm.internals"
"""By its name: nothing of `rhapsode` imports an engine."""


def register() -> None:
    """Loads no model code."""
    system_packages.put_last()
    if system_packages.is_ours("worker"):
        import_module(ENGINE).register()
    else:
        # In a process of ours no package comes before ours.
        logger.info("vLLM does not get Rhapsode's talker: this process has another package called worker")
