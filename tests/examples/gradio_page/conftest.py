"""Gradio's tests are collected where Gradio is installed: `make demo-test` does so in an environment of its own."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("gradio") else ["test_page.py"]
