"""Ends the connections of peers that do not read."""

from __future__ import annotations

import socket
from typing import Any

from django.conf import settings

OPTION = getattr(socket, "TCP_USER_TIMEOUT", None)
"""Linux has this option. Elsewhere such a peer is dropped when it answers no ping; its memory is bounded anyway."""


def give_up_unread(connection: Any) -> None:
    """Have the kernel end a connection whose peer has read nothing of the waiting data for UNREAD_SECONDS."""
    if OPTION is not None:
        connection.setsockopt(socket.IPPROTO_TCP, OPTION, int(settings.UNREAD_SECONDS * 1000))
