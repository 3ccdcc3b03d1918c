"""A program that uses the API, as tests write it."""

from __future__ import annotations

import json
from typing import Any

from asgiref.sync import ThreadSensitiveContext

from conversations.models import ApiKey, User
from tests.conversations.conforming import ConformingAsyncClient, ConformingClient

JSON = "application/json"


class Api:
    """JSON in and out, with the key of one user."""

    def __init__(self, user: User) -> None:
        _, self.key = ApiKey.make(user, "tests")
        self.headers = {"authorization": f"Bearer {self.key}"}
        self.client = ConformingClient(headers=self.headers, raise_request_exception=False)
        self.async_client = ConformingAsyncClient(raise_request_exception=False)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, query)

    def post(self, path: str, body: Any = None) -> Any:
        return self.client.post(path, json.dumps(body or {}), content_type=JSON)

    def patch(self, path: str, body: Any) -> Any:
        return self.client.patch(path, json.dumps(body), content_type=JSON)

    def send(self, method: str, path: str, body: bytes, content_type: str = JSON) -> Any:
        """A body as it stands; an empty one is declared too."""
        more = {"CONTENT_TYPE": content_type} if content_type and not body else {}
        return self.client.generic(method, path, body, content_type=content_type, **more)

    async def say(self, path: str, content: str, **more: Any) -> Any:
        return await self.post_async(path, {"content": content} | more)

    async def post_async(self, path: str, body: Any = None) -> Any:
        # A thread of the request's own, as the server gives it one: a waiting request must not hold up the reply.
        async with ThreadSensitiveContext():
            return await self.async_client.post(path, json.dumps(body or {}), content_type=JSON, headers=self.headers)


def refused(response: Any, status: int, code: str) -> dict[str, Any]:
    """The detail of a refusal, whose shape is checked."""
    assert response.status_code == status, response.content
    assert response["Content-Type"].startswith(JSON)
    (error,) = response.json().values()
    assert set(error) == {"code", "message", "detail"}
    assert error["code"] == code
    assert error["message"]
    return dict(error["detail"]) | {"message": error["message"]}
