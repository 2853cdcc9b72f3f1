"""What a job made: the list, and a link per name."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response

from api.dependencies import KnownJobId, Links, Services, Tenant
from api.http.links import URL_TTL_S
from api.http.problems.problem import not_found
from api.job_answers.view import JobViewer, find_artifact
from rhapsode.contract.jobs import answer as schemas

router = APIRouter(prefix="/v1/jobs/{job_id}/artifacts", tags=["artifacts"])


@router.get("", response_model=schemas.ArtifactList)
def list_artifacts(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId) -> schemas.ArtifactList:
    """Empty until the job has succeeded."""
    record = services.jobs.get(tenant, job_id)
    viewer = JobViewer(services.artifacts, links, time.time())
    return schemas.ArtifactList(data=viewer.artifact_list(record))


@router.head("/{name}", status_code=302, include_in_schema=False)
@router.get("/{name}", status_code=302, response_class=Response)
def get_artifact(tenant: Tenant, services: Services, links: Links, job_id: KnownJobId, name: str) -> Response:
    """Leads to the object itself, by a link that needs no credentials for fifteen minutes."""
    record = services.jobs.get(tenant, job_id)
    artifact = find_artifact(record.artifacts, name)
    if artifact is None:
        known = ", ".join(artifact.name for artifact in record.artifacts) or f"nothing while it is {record.state}"
        raise not_found(f"job {job_id} has no artifact {name[:64]!r}; it has: {known}")
    viewer = JobViewer(services.artifacts, links, time.time())
    location = viewer.download_url(record, artifact, URL_TTL_S)
    return Response(status_code=302, headers={"Location": location, "Cache-Control": "no-store"})
