"""Files and texts that take far longer to read than they are long."""

from __future__ import annotations

import io
import json
import os
import zipfile
from functools import cache

from PIL import Image

SCAN = bytes.fromhex("ffda0008010100010502")
"""The head of a scan of the first five coefficients of each block."""
TABLE = 22
"""Bytes of the table before it."""
SLOW_CODE = {
    "easytrieve": "\t" * 1_200,
    "autoit": "#cs\n" * 2_500,
    "c": "{" * 10_000,
    "java": "a" * 10_000,
}


@cache
def scans(count: int = 2_500, *, side: int = 8_000) -> bytes:
    """A progressive JPEG of one colour, a scan of which is there over and over: each has all its blocks looked at."""
    file = io.BytesIO()
    Image.new("L", (side, side), 128).save(file, "JPEG", progressive=True, quality=30)
    data = file.getvalue()
    start = data.index(SCAN) - TABLE
    end = data.index(b"\xff\xc4", start + TABLE)
    return data[:end] + data[start:end] * count + data[end:]


@cache
def costly_json(megabytes: int = 62) -> bytes:
    """JSON of small objects that is told as one conversation, in a zip file of one hundredth of its size."""
    objects = b'{"a":1},' * 800
    parts = (b'"%s",' % os.urandom(60).hex().encode() + objects for _ in range(megabytes * 1_000_000 // len(objects)))
    body = b'[{"mapping":{},"x":[' + b"".join(parts) + b"1]}]"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", body)
    return file.getvalue()


def large_export(size: int) -> bytes:
    """ChatGPT's, of conversations of 40 messages, of about so many bytes."""
    conversations: list[bytes] = []
    while sum(map(len, conversations)) < size:
        conversations.append(json.dumps(_conversation(len(conversations))).encode())
    return b"[" + b", ".join(conversations) + b"]"


def _conversation(number: int) -> dict[str, object]:
    nodes: dict[str, object] = {"root": {"message": None, "parent": None}}
    for at in range(40):
        message = {
            "author": {"role": "assistant" if at % 2 else "user"},
            "create_time": 1_700_000_000 + at,
            "content": {"content_type": "text", "parts": [f"Message {at} of {number}: " + "and so on, " * 100]},
        }
        nodes[str(at)] = {"message": message, "parent": str(at - 1) if at else "root"}
    return {"title": f"Talk {number}", "mapping": nodes, "current_node": "39", "conversation_id": str(number)}


def same_key(count: int) -> bytes:
    """JSON of an object with so many keys, the last of which is there twice."""
    keys = [f'"k{number}":1' for number in range(count)]
    return ("{" + ",".join([*keys, keys[-1]]) + "}").encode()
