"""The project that a call belongs to: that of its key, or the one that its header names. Its instructions go along."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest

from conversations import projects
from conversations.context.kept_entries import kept_texts, lines_of
from conversations.context.system_prompt import project_sections
from conversations.errors import NotFound
from conversations.models import ApiKey, Project

HEADER = "X-Chatsite-Project"


def project_of(request: HttpRequest, key: ApiKey) -> Project | None:
    """The project of a call. Raises NotFound if the header names none of the key's owner."""
    named = request.headers.get(HEADER, "").strip()
    if not named:
        return key.project if key.project and projects.may_write(key.user_id, key.project) else None
    try:
        return projects.get_project(key.user, UUID(named), projects.MAY_WRITE)
    except (ValueError, Http404):
        raise NotFound(f"{HEADER}: you have no project with this id.", code="project_not_found") from None


def instructions_of(project: Project, *, window: int) -> str:
    """The instructions of the project, and the entries that are kept for it, as its conversations have them."""
    kept = kept_texts(lines_of(project.pk), own=(), window=window)
    return "\n\n".join(project_sections(project.instructions, kept))
