"""A receiver of webhooks in Django, in one file: each event is kept once, for whoever works through them.

    rhapsode webhooks add https://your.host/hooks     # prints whsec_...
    WEBHOOK_SECRET=whsec_... python examples/webhook_django.py 8002

Needs django beside the client. In a project of yours, `receive` goes into a `views.py` and the rest is there already.
"""

# Django has no types of its own.
# pyright: reportArgumentType=false

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from rhapsode.webhooks import MAX_BODY_BYTES, WebhookRefused, verify

SECRET = os.environ["WEBHOOK_SECRET"]
INBOX = Path(os.environ.get("INBOX", "inbox"))

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATA_UPLOAD_MAX_MEMORY_SIZE=MAX_BODY_BYTES,
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.urandom(32).hex(),  # signs nothing here
)


# The signature is the proof of who sends; Django's token is for forms of its own pages.
@csrf_exempt
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    try:
        event = verify(request.body, request.headers, SECRET)
    except WebhookRefused as error:
        return HttpResponse(str(error), status=401, content_type="text/plain")
    INBOX.mkdir(parents=True, exist_ok=True)
    kept = INBOX / f"{event.id}.json"
    if not kept.exists():
        kept.write_text(json.dumps({"type": event.type, "data": event.data}))
    return HttpResponse(status=204)


urlpatterns = [path("hooks", receive)]
application = get_wsgi_application()


if __name__ == "__main__":
    from wsgiref.simple_server import make_server

    with make_server("127.0.0.1", int(sys.argv[1]), application) as server:
        server.serve_forever()
