"""A project, and what may be set of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from conversations.api.schemas.fields import Body, about
from conversations.api.schemas.ledger import Entry
from conversations.context.kept_entries import MAX_KEPT
from conversations.models.project import MAX_INSTRUCTIONS_CHARS, MAX_PROJECT_NAME_CHARS
from conversations.project_files import MAX_FILES
from conversations.project_members import MAX_MEMBERS
from conversations.projects import MAX_PROJECTS, clean_instructions, clean_name

Colour = Literal["grey", "teal", "blue", "violet", "amber", "red"]
Name = Annotated[
    str, AfterValidator(clean_name), Field(json_schema_extra={"minLength": 1, "maxLength": MAX_PROJECT_NAME_CHARS})
]
Instructions = Annotated[
    str, AfterValidator(clean_instructions), Field(json_schema_extra={"maxLength": MAX_INSTRUCTIONS_CHARS})
]
ModelName = Annotated[str | None, Field(json_schema_extra={"maxLength": 100, "minLength": 1})]

INSTRUCTIONS = "A part of the system prompt of each of its conversations; empty for none."
RECALLS = "Whether each of its conversations gets passages of the others."
MODEL = "Name of the model that its new conversations begin with; null: the person's usual one."


class Project(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-7d20-7c31-9a1e-2b6f0c9a4d15")
    name: str = about("Its name.", "Billing migration")
    colour: Colour = about("The colour of its folder.", "teal")
    instructions: str = about(INSTRUCTIONS, "Assume that I know SQL well. Times are UTC.")
    model: str | None = about(MODEL, "gpt-4.1-mini")
    recalls: bool = about(RECALLS, True)
    conversations: int = about("The number of its conversations, without those in the trash.", 16, ge=0)
    role: Literal["owner", "writer", "reader"] = about("One's own role in it.", "owner")
    owner: str = about("The name of the person whose project it is.", "ada")
    created_at: datetime = about("When it was made.", "2026-11-20T08:30:00+00:00")


class Projects(BaseModel):
    items: list[Project] = about(f"One's own by name, at most {MAX_PROJECTS}, and those that are shared with one.")


class Person(BaseModel):
    username: str = about("Their name.", "grace")
    role: Literal["reader", "writer"] = about("Whether they write in it.", "writer")
    since: datetime = about("When it was shared with them.", "2026-11-20T08:30:00+00:00")


class People(BaseModel):
    items: list[Person] = about(f"By name, at most {MAX_MEMBERS}.")


class Share(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"role": "reader"}})

    role: Literal["reader", "writer"] = Field(default="reader", description="Whether they write in it.")


class NewProject(Body):
    model_config = ConfigDict(json_schema_extra={"example": {"name": "Billing migration", "colour": "teal"}})

    name: Name = Field(description="Its name.")
    colour: Colour = Field(default="grey", description="The colour of its folder.")
    instructions: Instructions = Field(default="", description=INSTRUCTIONS)
    model: ModelName = Field(default=None, description=MODEL)
    recalls: bool = Field(default=True, description=RECALLS)


class ProjectChanges(Body):
    """Fields that are not named stay as they are."""

    model_config = ConfigDict(json_schema_extra={"example": {"instructions": "Times are UTC."}})

    name: Name = Field(default="", description="Its name.")
    colour: Colour = Field(default="grey", description="The colour of its folder.")
    instructions: Instructions = Field(default="", description=INSTRUCTIONS)
    model: ModelName = Field(default=None, description=MODEL)
    recalls: bool = Field(default=True, description=RECALLS)


class File(BaseModel):
    id: UUID = about("Its id.", "0199b3c2-7d20-7c31-9a1e-2b6f0c9a4d15")
    name: str = about("Its name.", "contract.pdf")
    tokens: int = about("The tokens of its text, by our own count.", 12_400, ge=0)
    parts: int = about("The number of parts in which its passages are found.", 16, ge=0)
    created_at: datetime = about("When it was added.", "2026-11-20T08:30:00+00:00")


class KeptEntry(Entry):
    conversation_id: UUID = about("Its conversation.", "0199b3c2-6f1e-7a52-8d7b-1d0a9be2f6d3")
    replaced_by: UUID | None = about(
        "The later kept entry about the same thing, which requests have in its place; null: none.", None
    )


class KeptEntries(BaseModel):
    items: list[KeptEntry] = about(f"The latest first, at most {MAX_KEPT}.")


class Files(BaseModel):
    items: list[File] = about(f"The files of the project by name, at most {MAX_FILES}.")
