"""Reads the items of a request of OpenAI's Responses as messages of chat completions."""

from __future__ import annotations

from conversations.errors import Invalid
from conversations.gateway.history_repair import described
from conversations.gateway.messages import as_json
from conversations.gateway.openai_responses import typed_tools
from conversations.gateway.openai_responses.compaction import compaction_item, content_of_compaction
from conversations.gateway.openai_responses.tools import INPUT, SEPARATOR
from conversations.gateway.protocol import Json
from conversations.gateway.sealed_thoughts import joined, opened

ROLES = ("user", "assistant", "system", "developer")
INSTRUCTING = ("system", "developer")
TEXTS = ("input_text", "output_text", "text", "summary_text", "refusal")
COMPACTIONS = ("compaction", "compaction_summary")
TRIGGER = "compaction_trigger"
REASONING = "reasoning"
ANSWERS = ("_output", "_response", "_result")
"""How the types of items end that answer a model."""
IMAGE_OF = "Image in the result of the tool call {}:"


def messages_of(given: object, model: str = "") -> list[Json]:
    """Messages of chat completions with the same content, with the thoughts that `model` itself wrote.

    Raises Invalid, naming the place.
    """
    return _read(given, model).messages


def starts_of(given: object) -> list[int]:
    """The number of the item that each of these messages begins with. Images of results begin with their calls."""
    return _read(given).starts


def items_of(given: object) -> list[Json]:
    """The items of an input, with those that a compaction item holds. Raises Invalid, naming the place."""
    return [item for _, item in _placed(given)]


def _placed(given: object) -> list[tuple[str, Json]]:
    """Each item with its place in the request."""
    if given is None or isinstance(given, str):
        content = [{"type": "input_text", "text": given or ""}]
        return [("input", {"type": "message", "role": "user", "content": content})]
    if not isinstance(given, list) or not given:
        raise Invalid("input: must be text, or a list of at least one item.", field="input")
    placed: list[tuple[str, Json]] = []
    said = {_instruction(item) for item in given if isinstance(item, dict) and item.get("role") in INSTRUCTING}
    for number, item in enumerate(given):
        place = f"input[{number}]"
        if not isinstance(item, dict):
            raise _fault(place, "must be an object.")
        if item.get("type") not in COMPACTIONS:
            placed.append((place, item))
            continue
        text, held = content_of_compaction(place, item)
        if text:
            placed.append((place, compaction_item(str(item.get("id") or ""), text)))
        placed += [(f"{place}.encrypted_content", inner) for inner in held if _instruction(inner) not in said]
    return placed


def _instruction(item: Json) -> tuple[str, str]:
    """The key that identifies an instruction: some clients send it beside the compaction item that contains it."""
    return str(item.get("role")), as_json(item.get("content"))


def _read(given: object, model: str = "") -> _Reading:
    reading = _Reading(model)
    for number, (place, item) in enumerate(_placed(given)):
        reading.take(place, item)
        reading.starts += [number] * (len(reading.messages) - len(reading.starts))
    reading.end_results()
    for at, texts in reading.added.items():
        message = reading.messages[at]
        message["content"] = "\n\n".join([*([message["content"]] if message["content"] else ()), *texts])
    return reading


class _Reading:
    """The messages so far, the items that they begin with (`starts`), and the `images` of results that follow once all
    results of a message are there. `calling` is the place of the last message with calls, `added` are texts that were
    said after the calls of a message, by its place, and `thoughts` those of the answer that comes next.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.thoughts: Json = {}
        self.messages: list[Json] = []
        self.starts: list[int] = []
        self.images: list[Json] = []
        self.called: set[str] = set()
        self.calling = 0
        self.added: dict[int, list[str]] = {}

    def take(self, place: str, item: Json) -> None:
        kind = item.get("type", "message")
        if kind in ("function_call_output", "custom_tool_call_output"):
            self._result(place, item)
            return
        if typed_tools.is_result(item) and (call_id := self._answered(item)):
            self._result(place, {"call_id": call_id, "output": typed_tools.result_text(item)})
            return
        self.end_results()
        if kind == "message":
            self._message(place, item)
        elif kind in ("function_call", "custom_tool_call"):
            self._call(place, item, is_custom=kind == "custom_tool_call")
        elif typed := typed_tools.called(item):
            self._call(place, {"call_id": item["call_id"], "name": typed[0], "arguments": typed[1]}, is_custom=False)
        elif kind in COMPACTIONS:
            self.messages.append({"role": "user", "content": content_of_compaction(place, item)[0]})
        elif kind == REASONING:
            self.thoughts = joined(self.thoughts, opened(item.get("encrypted_content"), self.model))
        elif kind != TRIGGER:
            role = "user" if str(kind).endswith(ANSWERS) else "assistant"
            self._add(role, described(item))

    def _answered(self, item: Json) -> str:
        """The id of the call that an item answers, which a local shell's result has under either name; "" if none."""
        return next((str(id) for id in (item.get("call_id"), item.get("id")) if str(id) in self.called), "")

    def _add(self, role: str, text: str) -> None:
        last = self.messages[-1] if self.messages else {}
        if role == "assistant" and last.get("tool_calls"):
            self.added.setdefault(len(self.messages) - 1, []).append(text)  # results come next
        else:
            self.messages.append({"role": role, "content": text})

    def end_results(self) -> None:
        if self.images:
            self.messages.append({"role": "user", "content": self.images})
            self.starts.append(self.starts[self.calling])
            self.images = []

    def _message(self, place: str, item: Json) -> None:
        if item.get("role") not in ROLES:
            raise _fault(f"{place}.role", f"must be one of {', '.join(ROLES)}.")
        role = "system" if item["role"] == "developer" else item["role"]
        content = content_of(f"{place}.content", item.get("content"))
        last = self.messages[-1] if self.messages else {}
        if role == "assistant" and last.get("tool_calls") and isinstance(content, str):
            self.added.setdefault(len(self.messages) - 1, []).append(content)  # results come next
        elif role == "assistant":
            self.messages.append({"role": role, "content": content} | self._own_thoughts())
        else:
            self.messages.append({"role": role, "content": content})
            self.thoughts = {}

    def _own_thoughts(self) -> Json:
        thoughts, self.thoughts = self.thoughts, {}
        return thoughts

    def _call(self, place: str, item: Json, *, is_custom: bool) -> None:
        """A call, beside those right before it: chat completions have all calls of a turn in one message."""
        id, name = _text(place, item, "call_id"), _text(place, item, "name")
        given = item.get("input" if is_custom else "arguments")
        if not isinstance(given, str):
            given = "" if given is None else as_json(given)
        space = item.get("namespace")
        known = f"{space}{SEPARATOR}{name}" if isinstance(space, str) and space else name
        self.called.add(id)
        function = {"name": known, "arguments": as_json({INPUT: given}) if is_custom else given}
        call = {"id": id, "type": "function", "function": function}
        last = self.messages[-1] if self.messages else {}
        if last.get("role") == "assistant":
            last.setdefault("tool_calls", []).append(call)
            if self.thoughts:
                last |= joined({name: last[name] for name in self.thoughts if name in last}, self._own_thoughts())
        else:
            self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]} | self._own_thoughts())
        self.calling = len(self.messages) - 1

    def _result(self, place: str, item: Json) -> None:
        id = _text(place, item, "call_id")
        content = content_of(f"{place}.output", item.get("output"))
        if isinstance(content, list):
            images = [part for part in content if part["type"] != "text"]
            self.images += [{"type": "text", "text": IMAGE_OF.format(id)}, *images]
            content = "\n\n".join(part["text"] for part in content if part["type"] == "text")
        self.messages.append({"role": "tool", "tool_call_id": id, "content": content})


def content_of(place: str, content: object) -> str | list[Json]:
    """The text of a content, or its parts where some are images."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise _fault(place, "must be text, or a list of parts.")
    parts = [_part(f"{place}[{at}]", part) for at, part in enumerate(content)]
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _part(place: str, part: object) -> Json:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise _fault(place, "must be an object with a type.")
    if part["type"] in TEXTS:
        text = part.get("refusal" if part["type"] == "refusal" else "text")
        if not isinstance(text, str):
            raise _fault(f"{place}.text", "must be text.")
        return {"type": "text", "text": text}
    if part["type"] == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if part.get("detail") in ("low", "high", "auto") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"]} | detail}
    if part["type"] == "input_file" and isinstance(part.get("file_data"), str):
        return {"type": "file", "file": {"filename": part.get("filename") or "file", "file_data": part["file_data"]}}
    return {"type": "text", "text": described(part)}


def _text(place: str, item: Json, name: str) -> str:
    if not isinstance(item.get(name), str) or not item[name]:
        raise _fault(f"{place}.{name}", "must be a text.")
    return str(item[name])


def _fault(place: str, what: str) -> Invalid:
    return Invalid(f"{place}: {what}", field=place)
