"""All generated files that are in git."""

from __future__ import annotations

from generators.command_line_options import command_line_options
from generators.error_pages import error_table
from generators.files import Files, formatted
from generators.option_page import option_page
from generators.request_options import request_options
from generators.usual_request import usual_request


def everything() -> Files:
    return {
        **formatted({**request_options(), **command_line_options()}),
        **option_page(),
        **error_table(),
        **usual_request(),
    }
