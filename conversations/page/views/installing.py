"""Serves the files of the installable app: the manifest, the service worker, the offline page, the scripts' texts."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET
from django.views.i18n import JavaScriptCatalog


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
    """The page that the service worker shows while the site cannot be reached; it is the same for everybody."""
    return render(request, "offline.html")


@require_GET
@cache_control(max_age=3600)
def words(request: HttpRequest, language: str) -> HttpResponse:
    """The translated texts that the scripts use, as a script that is loaded before them."""
    if language not in dict(settings.LANGUAGES):
        raise Http404("There is no such language.")
    with translation.override(language):
        catalog: HttpResponse = JavaScriptCatalog.as_view(packages=["conversations"])(request)  # type: ignore[assignment]
    return catalog
