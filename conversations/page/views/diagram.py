"""The page in whose frame the diagrams of replies are drawn."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.csp import CSP
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csp import csp_override
from django.views.decorators.http import require_GET

from conversations.page.views.guard import Request, member

POLICY: dict[str, list[str]] = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.UNSAFE_INLINE],
    "img-src": ["data:"],
    "frame-ancestors": [CSP.SELF],
    "sandbox": ["allow-scripts"],
}
"""Its scripts run without an origin, even if somebody opens the address directly; they load nothing."""


@member
@require_GET
@csp_override(POLICY)
@xframe_options_sameorigin
def diagram(request: Request) -> HttpResponse:
    return render(request, "diagram.html")
