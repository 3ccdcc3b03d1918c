"""Finds the files that tools' calls read, wrote, edited, moved or deleted, by the calls' own arguments.

It reads the tools of the usual coding agents (a path and a verb in the name, one tool with a `command`, patches of
`apply_patch`) and common commands of a shell. A call that failed, or has no result, changed nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from compression.core.caching import cached_texts
from compression.core.ledger.rules import find_rules
from compression.core.text.tool_arguments import arguments_of
from compression.core.values import ToolUse, Turn

READ, CREATED, WRITTEN, EDITED, DELETED = "read", "created", "written", "edited", "deleted"
CHANGES = (CREATED, WRITTEN, EDITED, DELETED, "moved")
"""The first words of the acts that change a file."""
MAX_COMMAND_CHARS = 10_000
"""The characters of a shell's command that are looked at."""
MAX_PATH_CHARS = 240
MAX_ALIKE = 50
"""Files of one name that a path is compared with, the latest."""

_PATH_NAMES = (
    "file_path", "filePath", "path", "filename", "file_name", "file", "target_file", "targetFile", "notebook_path",
    "relative_path", "absolute_path", "abs_path", "paths", "files", "file_paths",
)  # fmt: skip
_FROM_NAMES = ("source", "from", "old_path", "src", "source_path")
_TO_NAMES = ("destination", "to", "new_path", "dest", "dst", "target", "destination_path")
_VERBS = (
    (None, {"search", "grep", "glob", "list", "ls", "find", "tree", "stat", "exists"}),
    (DELETED, {"delete", "remove", "rm", "unlink"}),
    (EDITED, {"edit", "multiedit", "replace", "insert", "patch", "update", "modify", "append", "undo", "apply"}),
    (CREATED, {"create", "new", "add", "touch"}),
    (WRITTEN, {"write", "save", "overwrite"}),
    (READ, {"read", "view", "open", "cat", "show", "get"}),
)
"""The words of a tool's name, the telling ones first; None: it changes and reads no single file."""
_MOVES = frozenset({"move", "rename", "mv"})
_SHELLS = frozenset(
    {"bash", "shell", "sh", "zsh", "terminal", "run", "exec", "execute", "command", "cmd", "powershell"}
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: ([^\n]+)(?:\n\*\*\* Move to: ([^\n]+))?", re.MULTILINE)
_PATCH_ACTS = {"Add": CREATED, "Update": EDITED, "Delete": DELETED}
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_FAILED = re.compile(
    r"\s*(?:<tool_use_error>|(?:fatal |tool )?error\b|failed\b|exit code:? [1-9]|\w*Error:)", re.IGNORECASE
)
_ENDS_COMMAND = frozenset({";", "&&", "||", "|", "&", "(", ")", "|&", ";;"})
_READERS = frozenset({"cat", "head", "tail", "less", "more", "nl", "bat", "wc", "sed", "open", "goto"})
_LIKE_A_FILE = re.compile(r"[^\s*?$`{}<>|;&()'\"]*[./][^\s*?$`{}<>|;&()'\"]*")


class FileAct(NamedTuple):
    """One act on a file: READ, CREATED, WRITTEN, EDITED, DELETED, or "moved to …" and "moved from …"."""

    path: str
    act: str


def file_states(turns: Iterable[Turn]) -> dict[str, str]:
    """The acts on each file that the turns' tools touched, the latest act last: {"app.py": "created, edited"}.

    The file that was touched last stands last. A file that was changed is not said to be read.
    """
    acts: dict[str, dict[str, None]] = {}
    paths = Paths()
    for turn in turns:
        for use in turn.tools:
            for path, act in file_acts(use):
                path = paths.known(path)
                before = acts.pop(path, {})
                before.pop(act, None)
                acts[path] = {**before, act: None} if act != READ or set(before) <= {READ} else before
    return {path: ", ".join(act for act in done if act != READ or len(done) == 1) for path, done in acts.items()}


class Paths:
    """Paths by the file that they name: "app/views.py" and "/work/app/views.py" are one."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in known:
            self.known(path)

    def known(self, path: str) -> str:
        """The path under which the file is known already; the path itself, noted, for a new file."""
        alike = self._by_name.setdefault(path.rpartition("/")[2], [])
        same = next((one for one in alike[-MAX_ALIKE:] if _is_same(one, path)), None)
        if same is None:
            alike.append(path)
        return same or path


def _is_same(one: str, other: str) -> bool:
    return one == other or ("/" in one and "/" in other and (one.endswith(f"/{other}") or other.endswith(f"/{one}")))


def file_acts(use: ToolUse) -> tuple[FileAct, ...]:
    """The acts of one call, in order; none of a call that failed or was not answered."""
    return () if use.result is None or _FAILED.match(use.result) else _read(use.arguments, use.name)


def is_of_files(use: ToolUse) -> bool:
    """Whether the call is one of a tool for files, which names them in arguments of their own."""
    return bool(file_acts(use)) and any(name in arguments_of(use.arguments) for name in _PATH_NAMES)


@cached_texts(chars=500_000)
def _read(arguments: str, name: str) -> tuple[FileAct, ...]:
    return tuple(act for act in _acts(name, arguments_of(arguments)) if _is_path(act.path))


def _acts(name: str, arguments: Mapping[str, Any]) -> Iterator[FileAct]:
    texts = [text for value in arguments.values() for text in _texts(value)]
    patches = [patched for text in texts if "*** " in text for patched in _PATCHED.finditer(text)]
    if patches:
        for found in patches:
            path, target = found[2].strip(), (found[3] or "").strip()
            yield from _moved(path, target) if target else [FileAct(path, _PATCH_ACTS[found[1]])]
        return
    words = {word.lower() for word in _WORD.findall(name)}
    command = arguments.get("command", arguments.get("cmd", arguments.get("")))
    paths = [path for key in _PATH_NAMES for path in _texts(arguments.get(key))]
    if paths and isinstance(command, str) and command.isidentifier():  # one tool for all, with its verb as `command`
        words = {word.lower() for word in _WORD.findall(command)}
    elif not paths and command and (words & _SHELLS or not words):
        yield from _of_shell(command)
        return
    if words & _MOVES:
        sources = [path for key in _FROM_NAMES for path in _texts(arguments.get(key))] or paths
        targets = [path for key in _TO_NAMES for path in _texts(arguments.get(key))] or paths[1:]
        if sources and targets:
            yield from _moved(sources[0], targets[0])
        return
    act = next((act for act, verbs in _VERBS if words & verbs), None)
    if act:
        yield from (FileAct(path, act) for path in paths)


def _moved(source: str, target: str) -> list[FileAct]:
    return [FileAct(source, f"moved to {target}"), FileAct(target, f"moved from {source}")]


def _of_shell(command: Any) -> Iterator[FileAct]:
    if isinstance(command, list):  # ["bash", "-lc", "cat app.py"]
        words = [str(word) for word in command]
        text = words[-1] if len(words) == 3 and words[1].startswith("-") else shlex.join(words)
    else:
        text = str(command)
    for words in _commands(_without_heredocs(text[:MAX_COMMAND_CHARS])):
        yield from (act for act in _of_command(words) if _LIKE_A_FILE.fullmatch(act.path))


def _without_heredocs(text: str) -> str:
    """The text without the lines that a command reads as its input."""
    kept, end = [], ""
    for line in text.splitlines():
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(line)
        if found := _HEREDOC.search(line):
            end = found[2]
    return "\n".join(_HEREDOC.sub("", line) for line in kept)


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a shell's line; none for a text that is not a shell's."""
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        try:
            for word in lexer:
                if word in _ENDS_COMMAND:
                    yield words
                    words = []
                else:
                    words.append(word)
        except ValueError:  # a quotation goes on in the next line
            pass
        yield words


def _of_command(words: Sequence[str]) -> Iterator[FileAct]:
    words = [word for word in words if word != "sudo"]
    while words and re.fullmatch(r"\w+=\S*", words[0]):
        words = words[1:]
    for sign, act in ((">", WRITTEN), (">>", EDITED)):
        for at, word in enumerate(words[:-1]):
            if word == sign:
                yield FileAct(words[at + 1], act)
    end = next((at for at, word in enumerate(words) if word in (">", ">>", "<", ">&")), len(words))
    words = words[:end]
    if words[:1] == ["git"] and len(words) > 1 and words[1] in ("rm", "mv"):
        words = words[1:]
    if not words:
        return
    name, given = words[0].rpartition("/")[2], [word for word in words[1:] if not word.startswith("-")]
    if name in ("rm", "unlink"):
        yield from (FileAct(path, DELETED) for path in given)
    elif name == "mv" and len(given) == 2:
        yield from _moved(*given)
    elif name == "cp" and len(given) == 2:
        yield FileAct(given[1], CREATED)
    elif name == "touch":
        yield from (FileAct(path, CREATED) for path in given)
    elif name == "tee":
        yield from (FileAct(path, EDITED if "-a" in words else WRITTEN) for path in given)
    elif name in ("sed", "perl") and any(word.startswith("-") and "i" in word for word in words[1:]):
        yield from (FileAct(path, EDITED) for path in given[1:])
    elif name in _READERS:
        yield from (FileAct(path, READ) for path in given)


def _texts(value: Any) -> list[str]:
    """The texts of a value: its own, those of a list, and the path of each object in a list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        return []
    found = (one.get("path", one.get("file_path")) if isinstance(one, dict) else one for one in value)
    return [one for one in found if isinstance(one, str)]


def _is_path(path: str) -> bool:
    named = len(path) <= MAX_PATH_CHARS and path.isprintable() and any(map(str.isalnum, path))
    return named and not path.startswith("/dev/") and not find_rules(path)
