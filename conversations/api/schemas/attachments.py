"""Files of messages, and what was pasted into them."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from conversations.api.schemas.fields import Tokens, about


class Attachment(BaseModel):
    """An image, or a text file or document, whose text is part of the message's content."""

    id: UUID = about("Its id.", "0199b3c2-8c3f-7d51-8a0e-6b1f2c9d4e70")
    kind: Literal["image", "text"] = about("What it is.", "image")
    name: str = about("What the file is called.", "rack.jpg")
    media_type: str = about("The file's kind; `text/plain` for every text.", "image/jpeg")
    size: int = about("Bytes.", 182_044, ge=1)
    width: int | None = about("Pixels, of an image.", 1_600, ge=1)
    height: int | None = about("Pixels, of an image.", 1_200, ge=1)
    pages: int | None = about("Pages, slides or sheets, of a document that has them.", None, ge=1)
    tokens: Tokens = about("Tokens that it adds to a request; an estimate for an image.", 1_105)
    start: int | None = about(
        "Of a text file that was sent: where its text begins in the content, in characters.", None, ge=0
    )
    length: int | None = about("And how many characters it has.", None, ge=1)


class Uploaded(Attachment):
    """A file that was uploaded. Of a scan it is the first page, as an image, for a model that sees images."""

    further: list[UUID] = about("Ids of a scan's further pages, as many as a message has room for.", [])


class FileForm(BaseModel):
    """The body of an upload, as `multipart/form-data`."""

    file: bytes = about("One file, with its name.")


class Paste(BaseModel):
    """A long text that was pasted into the message."""

    number: int = about("Which of the message's pastes.", 1, ge=1)
    start: int = about("Where it begins in the content, in characters.", 18, ge=0)
    length: int = about("How many characters it has.", 4_120, ge=1)
