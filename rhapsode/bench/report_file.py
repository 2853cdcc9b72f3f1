"""A report as it stands in a file: JSON with the name of its schema."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict


class ReportFile(BaseModel):
    """Its schema is a field `schema_` of the class below, called `schema` in the file."""

    model_config = ConfigDict(populate_by_name=True)

    def write(self, path: Path) -> None:
        path.write_text(self.model_dump_json(by_alias=True, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises pydantic's `ValidationError` for what is none, or of another schema."""
        return cls.model_validate_json(path.read_text(encoding="utf-8"))
