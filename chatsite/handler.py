"""Django's ASGI handler, with a request's body open for as long as a thread may read it."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.handlers.asgi import ASGIHandler


class Handler(ASGIHandler):
    """A request that is cut off, by its peer or as the server stops, may have its view at work in the thread: the view
    ends as if nobody had left, whole, and only its answer reaches nobody. Django would close the body meanwhile.
    """

    def create_request(self, scope: Any, body_file: Any) -> Any:
        if after := scope.get("after_thread"):
            body_file.close = partial(after, body_file.close)
        return super().create_request(scope, body_file)
