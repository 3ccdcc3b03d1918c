"""Reads the error that MiniMax puts into an answer with status 200.

Source: platform.minimax.io, error codes.
"""

from __future__ import annotations

from typing import Any

STATUSES = {
    1001: 504,
    1002: 429,
    1004: 401,
    1008: 402,
    1013: 500,
    1026: 400,
    1027: 400,
    1039: 400,
    2013: 400,
    2049: 401,
}
"""The HTTP status that corresponds to each code; 500 for all others."""
CODES = {1026: "content_filter", 1027: "content_filter", 1039: "context_length_exceeded"}
"""The codes whose status does not say enough, by the names that OpenAI gives them."""


class ErrorInAnswer(Exception):
    """An answer is an error, with the HTTP status and the body that it would have elsewhere."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__()
        self.status = STATUSES.get(code, 500)
        self.body = {"error": {"message": message} | ({"code": CODES[code]} if code in CODES else {})}


def require_success(answer: Any) -> None:
    """Raise ErrorInAnswer for an object without choices whose `base_resp` has the code of an error."""
    reported = answer.get("base_resp") if isinstance(answer, dict) and not answer.get("choices") else None
    if not isinstance(reported, dict):
        return
    code = reported.get("status_code")
    if type(code) is int and code != 0:
        raise ErrorInAnswer(code, str(reported.get("status_msg", "")))
