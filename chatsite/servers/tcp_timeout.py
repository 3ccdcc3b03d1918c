"""Peers that do not read what they are sent."""

from __future__ import annotations

import socket
from typing import Any

from django.conf import settings

OPTION = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Linux has it. Elsewhere such a peer goes when it answers no ping; what it may hold of memory is bounded anyway."""


def give_up_unread(connection: Any) -> None:
    """Have the kernel end a connection whose peer took nothing of what waits for it for UNREAD_SECONDS."""
    if OPTION is not None:
        connection.setsockopt(socket.IPPROTO_TCP, OPTION, int(settings.UNREAD_SECONDS * 1000))
