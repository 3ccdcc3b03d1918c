"""A person's projects: the page of each, its settings, and conversations that are moved in and out."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh, reswap, retarget

from compression.core.tokens import count_tokens
from conversations import links, project_files, project_members, projects
from conversations.access import get_conversation, own_conversations
from conversations.context.kept_entries import standing_in, with_replacements
from conversations.errors import Invalid, NotFound, Refused
from conversations.instructions import conversation_settings
from conversations.llm.profiles import default_profile
from conversations.messages.file_http import received
from conversations.models import Conversation, Message, Project, ProjectMember
from conversations.page.setting_forms import BeginForm, ProjectForm
from conversations.page.views.guard import Request, member
from conversations.page.views.links import page_of
from conversations.page.views.query_params import id_of, ids_of
from conversations.page.views.sidebar import sidebar

MAX_LISTED = 200
"""The most conversations that the page of a project lists, the latest ones."""
MAX_MOVED = 100
"""The most conversations that are moved at once: their ids stand in an address, and proxies take 8 KB."""
ROLES = ProjectMember.Role.choices
NEW_NAME = gettext_noop("New project")
SHOWN_ELSEWHERE = ("name", "colour")
"""The page is loaded again when these change, as the list shows them too."""


@member
@require_POST
def new(request: Request) -> HttpResponse:
    """Make a project. On its page the name has the focus."""
    row = projects.create(request.user, name=_(NEW_NAME))
    return redirect(f"{reverse('project', args=[row.pk])}?new")


@member
@never_cache
@require_GET
def project(request: Request, project_id: UUID) -> HttpResponse:
    """The page of a project: a box for a new chat in it, its conversations and its settings."""
    row = projects.get_project(request.user, project_id, projects.MAY_READ)
    inside = projects.conversations_for(request.user, row)
    listed = (
        inside.select_related("owner")
        .only("id", "title", "kind", "updated_at", "owner__username")
        .annotate(message_count=Count("messages", Q(messages__replaced_by=None)))
    )
    entries = list(standing_in(row.pk).select_related("conversation"))
    context = {
        "project": row,
        "listed": listed.order_by("-updated_at", "-id")[:MAX_LISTED],
        "count": inside.count(),
        "instruction_tokens": count_tokens(row.instructions),
        "kept": [{"entry": entry, "later": later} for entry, later in with_replacements(entries)],
        "kept_tokens": sum(count_tokens(entry.text) for entry in entries),
        "files": project_files.described(project_files.files_of(row)),
        "form": ProjectForm(row, is_new="new" in request.GET),
        "profile": default_profile(request.user.pk),
        "begin_form": BeginForm(request.user, row),
        **_people(row),
        "sidebar": sidebar(request.user),
    }
    return render(request, "conversations/projects/project.html", context)


@member
@require_POST
def change(request: Request, project_id: UUID) -> HttpResponse:
    """Put one field of the project in force."""
    row = projects.get_project(request.user, project_id)
    field = next((name for name in ProjectForm.base_fields if name in request.POST), None)
    if field is None:
        raise Invalid(f"Name one of {', '.join(ProjectForm.base_fields)}.", field="project_name")
    name, value = field.removeprefix("project_"), request.POST[field].replace("\r\n", "\n")
    changes: projects.Changes
    match name:
        case "model":
            changes = {"model": conversation_settings.chosen_profile(request.user, value) if value else None}
        case "recalls":
            changes = {"recalls": value == "on"}
        case _:
            changes = {name: value}  # type: ignore[misc]
    projects.change(row, **changes)
    return HttpResponseClientRefresh() if name in SHOWN_ELSEWHERE else HttpResponse(_("Kept."))


@member
@require_POST
def add_file(request: Request, project_id: UUID) -> HttpResponse:
    """Store the uploaded file. The list of files, or the reason for which it is refused, takes the section's place."""
    row, refusal = projects.get_project(request.user, project_id, projects.MAY_WRITE), None
    try:
        name, data = received(request)
        project_files.add(row, name=name, data=data, by=request.user.pk)
    except Refused as refused:
        refusal = refused
    return _files(request, row, refusal)


@member
@require_POST
def remove_file(request: Request, project_id: UUID, file_id: UUID) -> HttpResponse:
    """Delete a file, also one that another tab has deleted."""
    row = projects.get_project(request.user, project_id, projects.MAY_WRITE)
    with suppress(NotFound):
        project_files.remove(row, file_id)
    return _files(request, row)


def _files(request: Request, row: Project, refusal: Refused | None = None) -> HttpResponse:
    files = project_files.described(project_files.files_of(row))
    context = {"project": row, "files": files, "refusal": refusal.without_field if refusal else ""}
    response = render(
        request, "conversations/projects/_project_files.html", context, status=refusal.status if refusal else 200
    )
    return reswap(retarget(response, "#project-files"), "outerHTML")


@member
@require_POST
def share_with(request: Request, project_id: UUID) -> HttpResponse:
    """Share the project with the person of this `username`, in this `role`; the list of people is shown again."""
    row, refusal = projects.get_project(request.user, project_id), None
    try:
        project_members.share(row, request.POST.get("username", "").strip(), request.POST.get("role"))
    except Refused as refused:
        refusal = refused
    return _people_shown(request, row, refusal)


@member
@require_POST
def unshare(request: Request, project_id: UUID, user_id: int) -> HttpResponse:
    """End a person's part in the project; no error if another tab ended it before. A person may end their own."""
    is_self = user_id == request.user.pk
    row = projects.get_project(request.user, project_id, projects.MAY_READ if is_self else (projects.OWNER,))
    with suppress(NotFound):
        project_members.unshare(row, user_id)
    if not is_self:
        return _people_shown(request, row)
    messages.success(request, _("You left the project “%(name)s”. Your chats of it are in the list.") % {"name": row})
    return HttpResponseClientRedirect(reverse("home"))


@member
@never_cache
@require_GET
def chat(request: Request, project_id: UUID, pk: UUID) -> HttpResponse:
    """A chat of a project for its other people: messages without files, thoughts and settings."""
    project = projects.get_project(request.user, project_id, projects.MAY_READ)
    conversation = projects.readable_conversation(request.user, pk)
    if conversation.project_id != project.pk or conversation.kind == Conversation.Kind.FILE:
        raise NotFound(_("This project has no such chat."))
    return page_of(request, links.whole(conversation), project=project)


def address_in_project(conversation: Conversation, message: Message) -> str:
    """The address of a message in the page that the people of its project read."""
    page = reverse("project_chat", args=[conversation.project_id, conversation.pk])
    after = (message.created_at + timedelta(microseconds=1)).isoformat()
    return f"{page}?{urlencode({'before': after})}#message-{message.pk}"


def _people(row: Project) -> dict[str, Any]:
    """The part of the page's context about people."""
    return {"can_share": settings.SHARED_PROJECTS, "people": project_members.members_of(row), "roles": ROLES}


def _people_shown(request: Request, row: Project, refusal: Refused | None = None) -> HttpResponse:
    context = {"project": row, **_people(row), "refusal": refusal.without_field if refusal else ""}
    context["typed"] = request.POST.get("username", "") if refusal else ""
    status = refusal.status if refusal else 200
    response = render(request, "conversations/projects/_people.html", context, status=status)
    return reswap(retarget(response, "#project-people"), "outerHTML")


@member
@require_POST
def delete(request: Request, project_id: UUID) -> HttpResponse:
    """Delete the project. Its conversations stay in the list."""
    row = projects.get_project(request.user, project_id)
    projects.delete(row)
    messages.success(request, _("The project “%(name)s” is deleted. Its chats are in the list.") % {"name": row})
    return HttpResponseClientRedirect(reverse("home"))


@member
@require_POST
def share(request: Request, pk: UUID) -> HttpResponse:
    """Share a conversation's messages with its project (`on` given), or keep it out."""
    conversation_settings.change(get_conversation(request.user, pk), shares_memory="on" in request.POST)
    return HttpResponseClientRefresh()


@member
@never_cache
@require_http_methods(["GET", "POST"])
def move(request: Request) -> HttpResponse:
    """Ask for the project of the conversations with these `ids`, then move them: `project` is its id, empty for none.

    With `new_project`, they are moved to a new project of this name.
    """
    chosen = _chosen(request)
    if request.method == "GET":
        context = {
            "chosen": chosen,
            "projects": projects.projects_for(request.user, projects.MAY_WRITE),
            "current": {row.project_id for row in chosen},
        }
        return render(request, "conversations/chat/_move.html", context)
    target: Project | None = None
    if name := request.POST.get("new_project", "").strip():
        target = projects.create(request.user, name=name)
    elif project_id := id_of(request.POST, "project"):
        target = projects.get_project(request.user, project_id, projects.MAY_WRITE)
    for conversation in chosen:
        conversation_settings.change(conversation, project=target)
    return HttpResponseClientRefresh()


def _chosen(request: Request) -> list[Conversation]:
    """The person's conversations of the `ids`; those of others, and those that are gone, are left out."""
    ids = ids_of(request.POST if request.method == "POST" else request.GET, "ids")
    if not ids or len(ids) > MAX_MOVED:
        raise Invalid(
            _("ids: choose from 1 to %(most)s conversations.") % {"most": MAX_MOVED}, field="ids", limit=MAX_MOVED
        )
    return list(own_conversations(request.user).select_related("model", "project").filter(pk__in=ids))
