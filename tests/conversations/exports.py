"""What ChatGPT and Claude export, as tests write it."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image

DATE = 1_736_154_000.5
"""2025-01-06 09:00:00.5 UTC."""


def picture(color: str) -> str:
    """An image as an address of data."""
    made = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(made, "PNG")
    return f"data:image/png;base64,{base64.b64encode(made.getvalue()).decode()}"


def chatgpt(*messages: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """A conversation without branches, under an empty root; the last message is the current one."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    for number, message in enumerate(messages):
        parent = f"n{number - 1}" if number else "root"
        nodes[parent]["children"] = [f"n{number}"]
        nodes[f"n{number}"] = {"id": f"n{number}", "message": message, "parent": parent, "children": []}
    head = {"title": "Ports", "create_time": DATE, "update_time": DATE + 60, "conversation_id": "c1"}
    return head | {"mapping": nodes, "current_node": list(nodes)[-1]} | more


def told(role: str, *parts: Any, content: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """One of its messages; `name` is a tool's, the rest of `more` are fields of the message."""
    return {
        "id": "m",
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": None,
        "content": content or {"content_type": "text", "parts": list(parts)},
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "recipient": "all",
        "metadata": {},
    } | more


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"uuid": "c1", "name": "Ports", "account": {"uuid": "someone else"}}
    dates = {"created_at": "2025-01-06T09:00:00.000000Z", "updated_at": "2025-01-06T10:00:00.000000Z"}
    return head | dates | {"chat_messages": list(messages)} | more


def wrote(uuid: str, sender: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """One of its messages; a text stands for a block of text."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    text = "\n".join(block["text"] for block in content if block["type"] == "text")
    dates = {"created_at": "2025-01-06T09:00:00Z", "updated_at": "2025-01-06T09:00:00Z"}
    message = {"uuid": uuid, "sender": sender, "text": text, "content": content, "attachments": [], "files": []}
    return message | dates | more


def open_webui(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A chat of Open WebUI; the messages have ids, and parents where they name any, else the one before."""
    tree: dict[str, Any] = {}
    for message in messages:
        before = list(tree)[-1] if tree else None
        tree[message["id"]] = {"parentId": before, "childrenIds": [], "timestamp": 1_736_154_000} | message
    inner = {"title": "Ports", "models": ["llama3:8b"], "history": {"messages": tree, "currentId": list(tree)[-1]}}
    chat = inner | more.pop("chat", {})
    dates = {"created_at": 1_736_154_000, "updated_at": 1_736_154_060}
    return {"id": "w1", "user_id": "someone else", "title": "Ports", "chat": chat} | dates | more


def librechat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation of LibreChat; each message answers the one before unless it names another parent."""
    written = []
    for number, message in enumerate(messages):
        head = {"messageId": f"m{number}", "parentMessageId": f"m{number - 1}" if number else "0" * 8, "text": ""}
        dates = {"createdAt": f"2025-01-06T09:0{number}:00.000Z"}
        written.append(head | dates | {"isCreatedByUser": number % 2 == 0, "sender": "User"} | message)
    head = {"conversationId": "l1", "endpoint": "openAI", "title": "Ports", "exportAt": "9:00:00 AM", "branches": True}
    return head | {"options": {"model": "gpt-4.1"}, "messages": written} | more


def grok(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation of Grok."""
    date = {"$date": {"$numberLong": "1736154000000"}}
    responses = [
        {"response": {"_id": f"r{number}", "sender": "human" if number % 2 == 0 else "ASSISTANT", "create_time": date}
         | message, "share_link": None}
        for number, message in enumerate(messages)
    ]  # fmt: skip
    head = {
        "id": "g1",
        "title": "Ports",
        "create_time": "2025-01-06T09:00:00.5Z",
        "modify_time": "2025-01-06T09:01:00Z",
    }
    return {"conversation": head, "responses": responses} | more


def deepseek(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation of DeepSeek; each message answers the one before unless it names another parent."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": ["1"], "message": None}}
    for number, message in enumerate(messages, 1):
        parent = message.pop("parent", str(number - 1) if number > 1 else "root")
        said = {"files": [], "model": "deepseek-chat", "inserted_at": f"2025-01-06T17:00:0{number}.102000+08:00"}
        mapping[str(number)] = {"id": str(number), "parent": parent, "children": [], "message": said | message}
    dates = {"inserted_at": "2025-01-06T17:00:00.102000+08:00", "updated_at": "2025-01-06T17:01:00.102000+08:00"}
    return {"id": "d1", "title": "Ports", "mapping": mapping} | dates | more


def gemini(title: str, answer: str, time: str, **more: Any) -> dict[str, Any]:
    """A prompt with its answer, as Google's Takeout has it."""
    items = [{"html": answer}] if answer else []
    head = {"header": "Gemini Apps", "title": title, "titleUrl": "https://gemini.google.com/", "time": time}
    return head | {"products": ["Gemini Apps"], "safeHtmlItem": items, "activityControls": ["Gemini Apps"]} | more
