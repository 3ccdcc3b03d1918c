"""/api/projects: make, list, read, change and delete them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ninja import Router

from conversations import projects
from conversations.api.auth import Request
from conversations.api.schemas import projects as schema
from conversations.api.schemas.fields import described
from conversations.context import settings
from conversations.runtime.payloads import project_json

router = Router(tags=["projects"])


@router.get("", operation_id="projects_list_all", response=described(schema.Projects), summary="List projects")
def list_projects(request: Request) -> dict[str, Any]:
    """One's own, by name."""
    rows = projects.counted(projects.own_projects(request.auth).select_related("model"))
    return {"items": [project_json(row) for row in rows]}


@router.post("", operation_id="projects_create", response={201: described(schema.Project)}, summary="Make a project")
def create_project(request: Request, body: schema.NewProject) -> dict[str, Any]:
    """Conversations are put into it with `PATCH /api/conversations/{id}`, or made in it."""
    fields: projects.Changes = body.model_dump()  # type: ignore[assignment]
    fields["model"] = settings.named_profile(body.model)
    return project_json(projects.create(request.auth, **fields))


@router.get(
    "/{uuid:project_id}", operation_id="projects_read", response=described(schema.Project), summary="Read a project"
)
def read_project(request: Request, project_id: UUID) -> dict[str, Any]:
    """Its conversations are listed by `GET /api/conversations?project=`."""
    return project_json(projects.get_project(request.auth, project_id))


@router.patch(
    "/{uuid:project_id}", operation_id="projects_change", response=described(schema.Project), summary="Change a project"
)
def change_project(request: Request, project_id: UUID, body: schema.ProjectChanges) -> dict[str, Any]:
    """Fields that are not named stay as they are. Its instructions are in every request from the next one on."""
    project = projects.get_project(request.auth, project_id)
    changes: projects.Changes = body.model_dump(exclude_unset=True)  # type: ignore[assignment]
    if "model" in changes:
        changes["model"] = settings.named_profile(body.model)
    projects.change(project, **changes)
    return project_json(project)


@router.delete("/{uuid:project_id}", operation_id="projects_delete", response={204: None}, summary="Delete a project")
def delete_project(request: Request, project_id: UUID) -> None:
    """Its conversations stay, without a project."""
    projects.delete(projects.get_project(request.auth, project_id))
