"""The names of daphne, Twisted and uvicorn that `chatsite.servers` builds on, and that their documentation lacks.

Each is an attribute of a class or a module, by its dotted path. An upgrade that takes one away fails a test, which says
what it is needed for: the bounds and the ends of connections that the servers have no options for.
"""

from __future__ import annotations

NAMES: dict[str, tuple[str, ...]] = {
    "daphne.server": ("HTTPFactory", "WebSocketFactory"),
    "daphne.server.Server": ("connections", "handle_reply", "kill_all_applications", "protocol_disconnected"),
    "daphne.http_protocol.WebRequest": ("_parsePOSTFormSubmission", "server"),
    "daphne.ws_protocol.WebSocketProtocol": ("_max_message_size_exceeded", "failedByMe", "onMessageFrameBegin"),
    "twisted.web.http.HTTPChannel": ("_command", "_networkProducer", "_path", "requestFactory", "timeoutConnection"),
    "uvicorn.protocols.http.httptools_impl": ("STATUS_LINE",),
    "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol": ("cycle", "on_message_begin", "on_headers_complete"),
    "uvicorn.protocols.http.httptools_impl.RequestResponseCycle": ("response_complete",),
    "uvicorn.middleware.proxy_headers.ProxyHeadersMiddleware": ("app",),
    "uvicorn.protocols.websockets.websockets_sansio_impl.WebSocketsSansIOProtocol": (
        "close_sent",
        "conn",
        "frames",
        "handle_cont",
        "handle_parser_exception",
        "read_paused",
    ),
}
"""The used names by the dotted path of their module or class."""
