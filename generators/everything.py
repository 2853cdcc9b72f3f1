"""All generated files, and what is there of them."""

from __future__ import annotations

from pathlib import Path

from generators.command_line_options import command_line_options
from generators.error_pages import error_table
from generators.files import Files, formatted, stale
from generators.option_page import option_page
from generators.request_options import request_options
from generators.sync_client import orphans, sync_client
from generators.usual_request import usual_request


def everything() -> Files:
    return {
        **formatted({**sync_client(), **request_options(), **command_line_options()}),
        **option_page(),
        **error_table(),
        **usual_request(),
    }


def out_of_date(files: Files) -> list[Path]:
    """Those to write anew, and those to remove."""
    return stale(files) + orphans(files)
