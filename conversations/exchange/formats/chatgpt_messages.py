"""Reads one message of ChatGPT's export: its speaker, its recipient, and its many kinds of content as text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from conversations.exchange.formats import foreign_text
from conversations.exchange.formats.chatgpt_references import without_marks
from conversations.exchange.formats.foreign_images import Images, fit
from conversations.models import Attachment, Message

ROLES = tuple(Message.Role.values)
CUSTOM = "user_editable_context"
LEFT_OUT = (CUSTOM, "model_editable_context", "thoughts", "reasoning_recap")
"""Kinds of content that are left out: those typed elsewhere, instructions about the person, and reasoning."""
PAGES = ("tether_quote", "sonic_webpage")
TEXTS = ("text", "result", "summary", "output_str", "refusal")
"""The fields with the text of contents without parts."""
UNKNOWN = "unknown"
"""The role of a message without an author."""
HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
"""Fields of a message that ChatGPT's page did not show."""
EVERYONE = (None, "", "all")
MAX_TOOL_NAME = 200


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A shown message. `recipient` is the tool that it asks, "" for everyone; `author` a tool's name."""

    role: str
    text: str
    created_at: datetime | None
    recipient: str = ""
    author: str = ""
    model: str = ""
    files: tuple[Attachment, ...] = ()

    def is_answered_by(self, other: ShownMessage) -> bool:
        """Whether the other message answers this one. A tool's name may be followed by its function's:
        `file_search.msearch`.
        """
        asked, answers = self.recipient.partition(".")[0], other.author.partition(".")[0]
        return bool(asked) and other.role == Message.Role.TOOL and asked == answers


def shown_message(place: str, message: dict[str, Any], images: Images, *, model: str = "") -> ShownMessage | None:
    """The message of an entry; None if it is hidden, reasoning or custom instructions. Raises Invalid, naming the
    place.

    `model` is the conversation's, for replies that name none. A message of an unknown role counts as a reply that
    begins with the role.
    """
    metadata = foreign_text.as_object(message.get("metadata"))
    content = _content(message)
    is_hidden = any(metadata.get(name) for name in HIDDEN)
    if is_hidden or content.get("content_type") in LEFT_OUT:
        return None
    author = foreign_text.as_object(message.get("author"))
    named = foreign_text.stored(author.get("role")) or UNKNOWN
    role = named if named in ROLES else Message.Role.ASSISTANT.value
    recipient = message.get("recipient")
    asks = role == Message.Role.ASSISTANT and recipient not in EVERYONE
    # A person's images come in as files; a model's are results of tools, and come in by name.
    shown = _Shown(metadata, images if role == Message.Role.USER else Images())
    text = shown.text(content, is_code=not asks)
    if role == Message.Role.ASSISTANT:
        text = without_marks(text, metadata)
    if role != named and text.strip():
        text = f"[{named[:MAX_TOOL_NAME]}] {text}"
    if not text.strip() and not shown.files and role != Message.Role.TOOL:  # a tool's empty answer still answers
        return None
    return ShownMessage(
        role,
        foreign_text.cut(text) if role == Message.Role.TOOL else foreign_text.checked_text(f"{place}.content", text),
        foreign_text.date(message.get("create_time")),
        recipient=foreign_text.stored(recipient)[:MAX_TOOL_NAME] if asks else "",
        author=foreign_text.stored(author.get("name"))[:MAX_TOOL_NAME] if role == Message.Role.TOOL else "",
        model=(foreign_text.stored(metadata.get("model_slug")) or model)[:200]
        if role == Message.Role.ASSISTANT
        else "",
        files=tuple(shown.files),
    )


def _content(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    return {"parts": [content]} if isinstance(content, str) else foreign_text.as_object(content)


def instructions_in(message: dict[str, Any]) -> str:
    """A person's custom instructions: a message of their own; in older exports, values beside it."""
    content = foreign_text.as_object(message.get("content"))
    if content.get("content_type") == CUSTOM:
        source, names = content, ("user_profile", "user_instructions")
    else:
        source = foreign_text.as_object(
            foreign_text.as_object(message.get("metadata")).get("user_context_message_data")
        )
        names = ("about_user_message", "about_model_message")
    return foreign_text.joined(*(foreign_text.stored(source.get(name)) for name in names))


class _Shown:
    """The text of a message, and the images that come in as its `files`."""

    def __init__(self, metadata: dict[str, Any], images: Images) -> None:
        self.files: list[Attachment] = []
        self._images = images
        self._attached = {str(one.get("id")): one for one in foreign_text.objects(metadata.get("attachments"))}

    def text(self, content: dict[str, Any], *, is_code: bool) -> str:
        texts = [self._part(part) for part in _parts(content)]
        if content.get("content_type") == "code" and is_code:
            language = foreign_text.stored(content.get("language"))
            texts = [f"```{'' if language == 'unknown' else language}\n{text}\n```" for text in texts if text.strip()]
        # What no part has named: a document, or an image that only the interface showed.
        texts += [self._named(id, one, is_image=_is_image(one)) for id, one in self._attached.items()]
        return "\n".join(text for text in texts if text.strip())

    def _part(self, part: object) -> str:
        """A part as text; an attachment that it shows is not named once more."""
        if not isinstance(part, dict):
            return foreign_text.stored(part)
        if text := foreign_text.stored(part.get("text")):
            return text
        pointer = part.get("asset_pointer") or foreign_text.as_object(part.get("audio_asset_pointer")).get(
            "asset_pointer"
        )
        asset = foreign_text.stored(pointer).rpartition("://")[2]
        attached = self._attached.pop(asset, {"id": asset})
        return self._named(asset, attached, is_image=part.get("content_type") == "image_asset_pointer")

    def _named(self, id: str, attached: dict[str, Any], *, is_image: bool) -> str:
        """A line that names a file; "" for an image that is there."""
        name = attached.get("name") or attached.get("id")
        if is_image and fit(self.files) and (image := self._images.beside(id, foreign_text.stored(name))):
            self.files.append(image)
            return ""
        return (foreign_text.image if is_image else foreign_text.file)(name)


def _is_image(attachment: dict[str, Any]) -> bool:
    return foreign_text.stored(attachment.get("mime_type")).startswith("image/")


def _parts(content: dict[str, Any]) -> list[Any]:
    """The parts of a content; nearly every type has them in another field."""
    if isinstance(content.get("parts"), list):
        return list(content["parts"])
    if content.get("content_type") in PAGES:
        return [content.get(name) for name in ("title", "url", "text")]
    return [next((content[name] for name in TEXTS if content.get(name)), "")]
