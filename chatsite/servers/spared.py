"""Keeps out parts of daphne's libraries that a site without TLS and WAMP never uses: 24 MB, and a fifth of its start.

Modules that are used import them at their top, so only a stand-in keeps them out. A later import gets the real modules.
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
"""Modules that Twisted does without if they are not installed."""
WAMP = ("autobahn.wamp", "autobahn.wamp.websocket", "autobahn.twisted.wamp")
"""A protocol over web sockets. Types of the transport are in its package, which is imported when it is needed."""
CFFI = "cffi"
"""Parses C declarations at each start, for extensions that were compiled when autobahn was built."""


@contextmanager
def spared() -> Iterator[None]:
    """Keep the modules out while daphne is imported; no effect for modules that are imported already."""
    given: dict[str, Any] = {ABSENT: None, CFFI: _Compiled(CFFI), **{name: _Empty(name) for name in WAMP}}
    given = {name: module for name, module in given.items() if name not in sys.modules}
    sys.modules.update(given)
    try:
        yield
    finally:
        for name in given:
            sys.modules.pop(name, None)


class _Empty(ModuleType):
    """A module with an empty class for every name, and its real submodules."""

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
    """`cffi` for modules whose compiled extension has the declarations already."""

    __version__ = "compiled"

    def __getattr__(self, name: str) -> type:
        if name != "FFI":
            raise AttributeError(name)
        from _cffi_backend import FFI as Loaded

        def ignore(self: object, *_: Any, **__: Any) -> None:
            pass

        return type("FFI", (Loaded,), {"cdef": ignore, "set_source": ignore})
