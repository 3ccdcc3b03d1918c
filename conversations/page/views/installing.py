"""Serves the manifest, the worker and the offline page, with which a browser installs the site as an app."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET


@require_GET
@cache_control(max_age=3600)
def manifest(request: HttpRequest) -> HttpResponse:
    return render(request, "manifest.json", content_type="application/manifest+json")


@require_GET
@cache_control(no_cache=True)
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker, at the root so that it may answer for every page."""
    return render(request, "worker.js", content_type="text/javascript")


@require_GET
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the worker shows where the site cannot be reached; it is the same for everybody."""
    return render(request, "offline.html")
