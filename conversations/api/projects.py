"""/api/projects: make, list, read, change and delete them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ninja import Router, Status

from conversations import project_files, project_members, projects
from conversations.api.attachments import FORM, FORM_BODY
from conversations.api.auth import Request
from conversations.api.schemas import projects as schema
from conversations.api.schemas.fields import described
from conversations.context.kept_entries import standing_in, with_replacements
from conversations.errors import NotFound, UnsupportedMediaType
from conversations.instructions import conversation_settings
from conversations.messages.file_http import received
from conversations.runtime.payloads import entry_json, file_json, member_json, project_json

router = Router(tags=["projects"])


@router.get("", operation_id="projects_list_all", response=described(schema.Projects), summary="List projects")
def list_projects(request: Request) -> dict[str, Any]:
    """Your own projects and those that others share with you, by name."""
    rows = projects.counted(projects.projects_for(request.auth).select_related("model", "owner"))
    return {"items": [project_json(row) for row in rows]}


@router.post("", operation_id="projects_create", response={201: described(schema.Project)}, summary="Create a project")
def create_project(request: Request, body: schema.NewProject) -> dict[str, Any]:
    """Move a conversation into it by `PATCH /api/conversations/{id}`, or create one with its `project`."""
    fields: projects.Changes = body.model_dump()  # type: ignore[assignment]
    fields["model"] = conversation_settings.named_profile(request.auth, body.model)
    return project_json(projects.create(request.auth, **fields))


@router.get(
    "/{uuid:project_id}", operation_id="projects_read", response=described(schema.Project), summary="Read a project"
)
def read_project(request: Request, project_id: UUID) -> dict[str, Any]:
    """`GET /api/conversations?project=` lists your own conversations in it."""
    return project_json(projects.get_project(request.auth, project_id, projects.MAY_READ))


@router.patch(
    "/{uuid:project_id}", operation_id="projects_change", response=described(schema.Project), summary="Change a project"
)
def change_project(request: Request, project_id: UUID, body: schema.ProjectChanges) -> dict[str, Any]:
    """Fields that are not named stay as they are. New instructions are part of every request from the next one on."""
    project = projects.get_project(request.auth, project_id)
    changes: projects.Changes = body.model_dump(exclude_unset=True)  # type: ignore[assignment]
    if "model" in changes:
        changes["model"] = conversation_settings.named_profile(request.auth, body.model)
    projects.change(project, **changes)
    return project_json(project)


@router.delete("/{uuid:project_id}", operation_id="projects_delete", response={204: None}, summary="Delete a project")
def delete_project(request: Request, project_id: UUID) -> None:
    """Its files go with it. Its conversations stay, without a project."""
    projects.delete(projects.get_project(request.auth, project_id))


@router.get(
    "/{uuid:project_id}/ledger",
    operation_id="projects_ledger",
    response=described(schema.KeptEntries),
    summary="List the rules and notes of a project",
)
def list_kept(request: Request, project_id: UUID) -> dict[str, Any]:
    """

    he rules and notes that all of its conversations share, each with the conversation that it comes from, the
    latest first.
    """
    project = projects.get_project(request.auth, project_id)
    return {
        "items": [
            entry_json(entry)
            | {"conversation_id": str(entry.conversation_id), "replaced_by": str(later.pk) if later else None}
            for entry, later in with_replacements(standing_in(project.pk))
        ]
    }


@router.get(
    "/{uuid:project_id}/files",
    operation_id="projects_files",
    response=described(schema.Files),
    summary="List the files of a project",
)
def list_files(request: Request, project_id: UUID) -> dict[str, Any]:
    """Its files by name. Each request of its conversations gets the passages that fit the question."""
    project = projects.get_project(request.auth, project_id, projects.MAY_READ)
    return {"items": [file_json(row) for row in project_files.described(project_files.files_of(project))]}


@router.post(
    "/{uuid:project_id}/files",
    operation_id="projects_add_file",
    response={201: described(schema.File)},
    summary="Upload a file to a project",
    openapi_extra=FORM_BODY,
)
def add_file(request: Request, project_id: UUID) -> Status:
    """A text file (UTF-8 or UTF-16; at most 1 MB) or a document (PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF,
    mail; at most 20 MB, only its text is kept), by its bytes. The same text again is the file that is there.

    With a key; a session uploads on the page.
    """
    project = projects.get_project(request.auth, project_id, projects.MAY_WRITE)
    if request.content_type != FORM:
        raise UnsupportedMediaType(f"Send the file as {FORM}.")
    name, data = received(request)
    file = project_files.add(project, name=name, data=data, by=request.auth.pk)
    return Status(201, file_json(project_files.described(project_files.files_of(project)).get(pk=file.pk)))


@router.delete(
    "/{uuid:project_id}/files/{uuid:file_id}",
    operation_id="projects_remove_file",
    response={204: None},
    summary="Remove a file from a project",
)
def remove_file(request: Request, project_id: UUID, file_id: UUID) -> None:
    """The next request of each conversation has no passages of it any more."""
    project_files.remove(projects.get_project(request.auth, project_id, projects.MAY_WRITE), file_id)


@router.get(
    "/{uuid:project_id}/people",
    operation_id="projects_people",
    response=described(schema.People),
    summary="List the people of a project",
)
def list_people(request: Request, project_id: UUID) -> dict[str, Any]:
    """The people by name. Only the owner can list them."""
    project = projects.get_project(request.auth, project_id)
    return {"items": [member_json(row) for row in project_members.members_of(project)]}


@router.put(
    "/{uuid:project_id}/people/{username}",
    operation_id="projects_share",
    response=described(schema.Person),
    summary="Share a project with a person",
)
def share_project(request: Request, project_id: UUID, username: str, body: schema.Share) -> dict[str, Any]:
    """A reader reads its chats and files; a writer also adds files and has chats of their own in it.

    The operator can forbid sharing.
    """
    project = projects.get_project(request.auth, project_id)
    return member_json(project_members.share(project, username, body.role))


@router.delete(
    "/{uuid:project_id}/people/{username}",
    operation_id="projects_unshare",
    response={204: None},
    summary="Stop sharing a project with a person",
)
def unshare_project(request: Request, project_id: UUID, username: str) -> None:
    """The person keeps their conversations, which leave the project. People can remove themselves."""
    is_self = username == request.auth.get_username()
    project = projects.get_project(request.auth, project_id, projects.MAY_READ if is_self else (projects.OWNER,))
    member = project_members.members_of(project).filter(user__username=username).first()
    if member is None:
        raise NotFound("The project is not shared with this person.")
    project_members.unshare(project, member.user_id)
