"""A scripted server of OpenID Connect, and of GitHub's OAuth: it hands out one person, whoever asks."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CLIENT, SECRET = "chatsite", "the secret of the client"


def _segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


class OidcServer:
    """`person` are the claims of whoever signs in next; `fails` makes the exchange of a code fail."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {}
        self.fails = False
        self.exchanges: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/.well-known/openid-configuration":
                    self.answer(outer.configuration)
                elif self.path == "/api/v3/user/emails":
                    self.answer(outer.person["emails"])
                else:
                    self.answer(outer.person)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                outer.exchanges.append(dict(urllib.parse.parse_qsl(body)))
                if outer.fails:
                    self.answer({"error": "invalid_grant"}, 400)
                    return
                now = int(time.time())
                claims = {"iss": outer.url, "aud": CLIENT, "iat": now, "exp": now + 60, **outer.person}
                token = f"{_segment({'alg': 'RS256', 'kid': '1'})}.{_segment(claims)}.{_segment('')}"
                self.answer({"access_token": "a", "token_type": "Bearer", "id_token": token})

            def answer(self, value: object, status: int = 200) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
