"""Files for a later job, sent straight to the server's store: the calls.

A link takes one file once, so what broke half-way is sent again under a new one.
"""

from __future__ import annotations

from rhapsode.client.calls import ApiCall, nothing, resource
from rhapsode.contract.uploads import NewUpload, Upload


def order_upload(num_bytes: int) -> ApiCall[NewUpload]:
    return ApiCall("POST", "/v1/uploads", resource(NewUpload), body={"bytes": num_bytes})


def get_upload(upload_id: str) -> ApiCall[Upload]:
    return ApiCall("GET", f"/v1/uploads/{upload_id}", resource(Upload))


def delete_upload(upload_id: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/uploads/{upload_id}", nothing)
