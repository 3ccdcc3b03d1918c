"""How many bytes of bodies may be here at once: each is counted as it comes, long before its request is whole."""

from __future__ import annotations

from collections import Counter

from chatsite.refusals import Busy

SMALL = 65_536
"""Bytes of a body that anybody may send; more is taken from who is signed in or has a key."""
SIGN_INS = frozenset({"/accounts/login/", "/setup/", "/admin/login/", "/admin/password_change/", "/settings/password"})
"""Where a password is hashed, or a wrong one is: half a second of a processor."""


class Budget:
    """Bytes of all, and of one address."""

    def __init__(self, *, all: int, address: int) -> None:
        self.most, self.most_of_address = all, address
        self.held, self.of = 0, Counter[str]()

    def take(self, address: str, size: int) -> None:
        """Raises Busy."""
        if self.held + size > self.most or self.of[address] + size > self.most_of_address:
            raise Busy
        self.held += size
        self.of[address] += size

    def leave(self, address: str, size: int) -> None:
        self.held -= size
        self.of[address] -= size
        if not self.of[address]:
            del self.of[address]


small = Budget(all=16_000_000, address=4_000_000)
large = Budget(all=48_000_000, address=32_000_000)
"""Apart from the small ones: whoever sends files slowly keeps nobody from signing in, or from writing."""


class Held:
    """The bytes of one body. On the loop."""

    def __init__(self, address: str) -> None:
        self.address, self.size, self._counted, self._budget = address, 0, 0, small

    @property
    def is_large(self) -> bool:
        return self._budget is large

    def reserve(self, size: int) -> None:
        """Count at once what is declared: of many that come together some are read whole. Raises Busy."""
        if size > self._counted:
            if size > SMALL and not self.is_large:
                self._budget.leave(self.address, self._counted)
                self._budget, self._counted = large, 0
            self._budget.take(self.address, size - self._counted)
            self._counted = size

    def take(self, size: int) -> None:
        """So much more has come. Raises Busy."""
        self.size += size
        self.reserve(self.size)

    def close(self) -> None:
        self._budget.leave(self.address, self._counted)
        self._counted = 0


def is_sign_in(method: str, path: str) -> bool:
    return method == "POST" and path in SIGN_INS
