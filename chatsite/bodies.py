"""Limits the bytes of request bodies that are held at once; each is counted as it arrives."""

from __future__ import annotations

from collections import Counter

from chatsite.refusal_responses import Busy

SMALL_BODY_BYTES = 65_536
"""The largest body that anybody may send; larger ones require a session or a key."""
SIGN_INS = frozenset(
    {
        "/accounts/delete/",
        "/accounts/login/",
        "/accounts/reauthenticate/",
        "/join/",
        "/setup/",
        "/admin/password_change/",
        "/settings/password",
    }
)
"""Paths at which a password is hashed, which takes half a second of CPU time."""
NEW_PASSWORDS = "/accounts/password/"
"""The beginning of the paths at which a forgotten password is replaced by a mail."""


class Budget:
    """A limit of held bytes: of all bodies, and of those from one address."""

    def __init__(self, *, all: int, address: int) -> None:
        self.most, self.most_of_address = all, address
        self.held, self.of = 0, Counter[str]()

    def take(self, address: str, size: int) -> None:
        """Count `size` more bytes. Raises Busy if a limit would be exceeded."""
        if self.held + size > self.most or self.of[address] + size > self.most_of_address:
            raise Busy
        self.held += size
        self.of[address] += size

    def leave(self, address: str, size: int) -> None:
        """Give back `size` bytes."""
        self.held -= size
        self.of[address] -= size
        if not self.of[address]:
            del self.of[address]


small = Budget(all=16_000_000, address=4_000_000)
large = Budget(all=48_000_000, address=32_000_000)
"""The budget of large bodies, apart from small ones, so that slow uploads cannot block sign-ins or messages."""


class BodyBytes:
    """The bytes of one body, counted in the small or the large budget. Use it on the loop."""

    def __init__(self, address: str) -> None:
        self.address, self.size, self._counted, self._budget = address, 0, 0, small

    @property
    def is_large(self) -> bool:
        return self._budget is large

    def reserve(self, size: int) -> None:
        """Count the declared size in advance, so that of many simultaneous bodies some complete. Raises Busy."""
        if size > self._counted:
            if size > SMALL_BODY_BYTES and not self.is_large:
                self._budget.leave(self.address, self._counted)
                self._budget, self._counted = large, 0
            self._budget.take(self.address, size - self._counted)
            self._counted = size

    def take(self, size: int) -> None:
        """Count `size` more bytes that arrived. Raises Busy."""
        self.size += size
        self.reserve(self.size)

    def close(self) -> None:
        """Give back all bytes of the body."""
        self._budget.leave(self.address, self._counted)
        self._counted = 0


def is_sign_in(method: str, path: str) -> bool:
    """Whether a request has a password to hash."""
    return method == "POST" and (path in SIGN_INS or path.startswith(NEW_PASSWORDS))
