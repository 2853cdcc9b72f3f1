"""What a router is told. It has no store and no Redis."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from api.router.cells import Fleet, parse_cells
from api.router.placement import CellChoice, Placement
from api.settings import ServerSettings
from rhapsode.contract.operators.keys import TENANT_NAME
from rhapsode.contract.operators.quotas import QuotaOrder
from storage.runtime.config.tls import TlsFiles

MAX_CELLS = 1000


class RouterSettings(ServerSettings):
    """A router's settings.

    cells: as `parse_cells` takes them. The same for all routers.
    tenant_cells: tenant -> over how many cells its jobs are spread, or the list of its cells; as a JSON object.
        Of every other tenant one cell, which its name decides.
    tenant_quotas: tenant that is spread -> its quotas over all its cells, as `PUT /v1/admin/tenants/{name}/quotas`
        takes them. The routers divide them.
    operator_key: with which they do, an API key of an operator in every cell.
    api_keys: as the cells have them: tenants of the keys that stand in the settings are known without asking a cell.
    """

    cells: str
    tenant_cells: dict[str, Annotated[int, Field(ge=1, le=MAX_CELLS)] | tuple[str, ...]] = Field(
        default_factory=dict[str, CellChoice]
    )
    tenant_quotas: dict[str, QuotaOrder] = Field(default_factory=dict[str, QuotaOrder])
    operator_key: SecretStr = SecretStr("")
    api_keys: dict[str, str] = Field(default_factory=dict[str, str], repr=False)

    @field_validator("cells")
    @classmethod
    def _cells(cls, value: str) -> str:
        parse_cells(value)
        return value

    @model_validator(mode="after")
    def _choices_exist(self) -> Self:
        names = self.fleet.by_name
        for tenant, choice in self.tenant_cells.items():
            if not TENANT_NAME.fullmatch(tenant):
                raise ValueError(f"{tenant!r} is not a tenant name: up to 63 of a-z 0-9 _ -")
            unknown = () if isinstance(choice, int) else tuple(name for name in choice if name not in names)
            if unknown or choice == ():
                raise ValueError(
                    f"RHAPSODE_TENANT_CELLS: {tenant} has to name cells of RHAPSODE_CELLS, {sorted(names)}"
                )
        return self

    @model_validator(mode="after")
    def _quotas_can_be_divided(self) -> Self:
        if not self.tenant_quotas:
            return self
        whole = sorted(self.tenant_quotas.keys() - self.tenant_cells.keys())
        if whole:
            raise ValueError(f"RHAPSODE_TENANT_QUOTAS: {', '.join(whole)} is not spread by RHAPSODE_TENANT_CELLS")
        if not self.operator_key.get_secret_value():
            raise ValueError("RHAPSODE_TENANT_QUOTAS needs RHAPSODE_OPERATOR_KEY, with which the cells are told")
        return self

    @property
    def fleet(self) -> Fleet:
        return parse_cells(self.cells)

    @property
    def placement(self) -> Placement:
        return Placement(self.fleet, self.tenant_cells)

    @property
    def tls_files(self) -> TlsFiles:
        return TlsFiles(self.tls_ca)
