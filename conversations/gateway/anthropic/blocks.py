"""Reads the messages of Anthropic's form, which are made of blocks, as messages of chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from conversations.errors import Invalid
from conversations.gateway.documents import document_text, tagged
from conversations.gateway.history_repair import described, file_note, parted
from conversations.gateway.messages import as_json
from conversations.gateway.protocol import Json
from conversations.gateway.sealed_thoughts import joined, opened

THOUGHTS = ("thinking", "redacted_thinking")
"""Blocks that only the provider who signed them can read."""
COMPACTION, SUMMARY_OF = "compaction", "[Summary of the conversation up to here]\n"
"""A block of Anthropic's own compaction, and the words before its text."""
ERROR = "[error] "
"""Before the result of a tool that failed: chat completions have no field for it."""


class Read(dict[str, Any]):
    """A message of chat completions that was read from blocks, unchanged since then.

    `number` is the place of the caller's message, `blocks` are the places of the blocks in it; None: all its content.
    """

    def __init__(self, message: Json, number: int, blocks: Sequence[int] | None = None) -> None:
        super().__init__(message)
        self.number = number
        self.blocks = blocks


IMAGE_OF = "Image in the result of the tool call {}:"


def messages_of(messages: object, model: str = "") -> list[Json]:
    """Messages of chat completions with the same content, with the thoughts that `model` itself wrote.

    Raises Invalid, naming the place.
    """
    if not isinstance(messages, list) or not messages:
        raise Invalid("messages: must be a list of at least one message.", field="messages")
    read: list[Json] = []
    for number, message in enumerate(messages):
        place = f"messages[{number}]"
        if not isinstance(message, dict):
            raise _fault(place, "must be an object.")
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant", "system"):
            raise _fault(f"{place}.role", "must be user or assistant.")
        if isinstance(content, str):
            read.append(Read({"role": role, "content": content}, number))
            continue
        if not isinstance(content, list):
            raise _fault(f"{place}.content", "must be text, or a list of blocks.")
        blocks = [(f"{place}.content[{at}]", _block(f"{place}.content[{at}]", one)) for at, one in enumerate(content)]
        places = [at for at, (_, block) in enumerate(blocks) if block["type"] == COMPACTION]
        if places:  # it stands for all that was before it
            summary = str(blocks[places[-1]][1].get("content") or "")
            read = [Read({"role": "user", "content": f"{SUMMARY_OF}{summary}"}, number, places[-1:])]
        rest = [*enumerate(blocks)][places[-1] + 1 if places else 0 :]
        if rest or not places:
            numbered = _answered(rest, model) if role == "assistant" else _messages(role, rest)
            read += (Read(one, number, at) for one, at in numbered)
    return read


def texts_of(content: object, place: str) -> list[str]:
    """The texts of blocks that must all be texts."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise _fault(place, "must be text, or a list of text blocks.")
    found = []
    for at, block in enumerate(content):
        if _block(f"{place}[{at}]", block)["type"] != "text" or not isinstance(block.get("text"), str):
            raise _fault(f"{place}[{at}]", "must be a block of type text.")
        found.append(block["text"])
    return found


def _block(place: str, block: object) -> Json:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise _fault(place, "must be an object with a type.")
    return block


def _fault(place: str, what: str) -> Invalid:
    return Invalid(f"{place}: {what}", field=place)


Numbered = list[tuple[int, tuple[str, Json]]]
"""Blocks, each with its place in the caller's message, and with the name of this place."""


def _answered(blocks: Numbered, model: str) -> Iterator[tuple[Json, list[int]]]:
    """An assistant's message, with the places of its blocks: its texts, its calls, and the thoughts that the model can
    read again.
    """
    texts, calls, thoughts = [], [], dict[str, Any]()
    for _, (place, block) in blocks:
        if block["type"] == "text":
            texts.append(_text(place, block))
        elif block["type"] == "tool_use":
            function = {"name": str(block.get("name") or ""), "arguments": as_json(block.get("input") or {})}
            calls.append({"id": str(block.get("id") or ""), "type": "function", "function": function})
        elif block["type"] in THOUGHTS:
            thoughts = joined(thoughts, opened(block.get("signature"), model))
        else:
            texts.append(described(block))
    said = "\n\n".join(texts)
    message: Json = {"content": said or None, "tool_calls": calls} if calls else {"content": said}
    yield {"role": "assistant"} | message | thoughts, [at for at, _ in blocks]


def _messages(role: str, blocks: Numbered) -> Iterator[tuple[Json, list[int]]]:
    """The results of tools in a message, then its other content, each with the places of its blocks."""
    parts, others = list[Json](), list[int]()
    for at_block, (place, block) in blocks:
        if block["type"] != "tool_result":
            parts.append(part_of(place, block))
            others.append(at_block)
            continue
        id, inner = block.get("tool_use_id"), block.get("content") or ""
        if not isinstance(id, str) or not id:
            raise _fault(f"{place}.tool_use_id", "must be a text.")
        held = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner
        if not isinstance(held, list):
            raise _fault(f"{place}.content", "must be text, or a list of blocks.")
        places = [f"{place}.content[{at}]" for at in range(len(held))]
        found = [part_of(at, _block(at, one)) for at, one in zip(places, held, strict=True)]
        text = "\n\n".join(one["text"] for one in found if one["type"] == "text")
        said = ERROR + text if block.get("is_error") else text
        yield {"role": "tool", "tool_call_id": id, "content": said}, [at_block]
        if images := [one for one in found if one["type"] != "text"]:
            parts += [{"type": "text", "text": IMAGE_OF.format(id)}, *images]
    if not parts:
        return
    if all(part["type"] == "text" for part in parts):
        yield {"role": role, "content": "\n\n".join(part["text"] for part in parts)}, others
    else:
        yield {"role": role, "content": parts}, others


def part_of(place: str, block: Json) -> Json:
    """A block as a part of a message: a text, or an image."""
    given = block.get("source")
    source: Json = given if isinstance(given, dict) else {}
    match block["type"], source.get("type"):
        case "text", _:
            return {"type": "text", "text": _text(place, block)}
        case "image", "base64":
            data = _data(place, source)
            return _image(f"data:{source['media_type']};base64,{data}")
        case "image", "url":
            return _image(str(source.get("url") or ""))
        case ("document", "content") | ("search_result", _):
            rest, texts = parted(block)
            named = " ".join(str(rest[name]) for name in ("title", "source") if isinstance(rest.get(name), str))
            return {"type": "text", "text": tagged("\n\n".join(texts), name=named)}
        case "document", "text":
            return {"type": "text", "text": tagged(_data(place, source), name=_title(block))}
        case "document", "base64" if isinstance(source.get("data"), str):
            kind = str(source.get("media_type") or "")
            return {"type": "text", "text": document_text(source["data"], media_type=kind, name=_title(block))}
        case _, "base64" if isinstance(source.get("data"), str):
            note = file_note(block["type"], str(source.get("media_type")), source["data"], _title(block))
            return {"type": "text", "text": note}
    return {"type": "text", "text": described(block)}


def _text(place: str, block: Json) -> str:
    if not isinstance(block.get("text"), str):
        raise _fault(f"{place}.text", "must be text.")
    return str(block["text"])


def _data(place: str, source: Any) -> str:
    if not isinstance(source.get("data"), str) or not isinstance(source.get("media_type"), str):
        raise _fault(f"{place}.source", "must have a media_type and data, both texts.")
    return str(source["data"])


def _image(url: str) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}


def _title(block: Json) -> str:
    title = block.get("title")
    return title if isinstance(title, str) else ""
