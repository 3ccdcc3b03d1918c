"""Parts of daphne's libraries that a site without TLS and WAMP of its own never uses: 24 MB, and a fifth of its start.

Modules that are used import them at their top, so that only a stand-in keeps them out. Whoever imports them later gets
the real ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

ABSENT = "OpenSSL"
"""Twisted does without it where it is not installed."""
WAMP = ("autobahn.wamp", "autobahn.wamp.websocket", "autobahn.twisted.wamp")
"""A protocol over web sockets. Types of the transport are in its package, which is imported where it is asked for."""
CFFI = "cffi"
"""Parses declarations in C at each start, for extensions that were compiled when autobahn was built."""


@contextmanager
def spared() -> Iterator[None]:
    """While daphne is imported; without effect for what is imported already."""
    given: dict[str, Any] = {ABSENT: None, CFFI: _Compiled(CFFI), **{name: _Empty(name) for name in WAMP}}
    given = {name: module for name, module in given.items() if name not in sys.modules}
    sys.modules.update(given)
    try:
        yield
    finally:
        for name in given:
            sys.modules.pop(name, None)


class _Empty(ModuleType):
    """A module with a class without content for every name, and its real submodules."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        top, *inner = name.split(".")
        spec = find_spec(top)
        places = spec.submodule_search_locations if spec else None
        self.__path__ = [str(Path(place, *inner)) for place in places or ()]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})


class _Compiled(ModuleType):
    """`cffi`, for modules that declare what a compiled extension of theirs has already."""

    __version__ = "compiled"

    def __getattr__(self, name: str) -> type:
        if name != "FFI":
            raise AttributeError(name)
        from _cffi_backend import FFI as Loaded

        def ignore(self: object, *_: Any, **__: Any) -> None:
            pass

        return type("FFI", (Loaded,), {"cdef": ignore, "set_source": ignore})
