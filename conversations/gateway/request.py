"""Parses a call: the model, the history, and the room that its reply needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from django.conf import settings
from django.db.models import Case, Q, When

from compression import conf
from compression.core.plan.policy import Policy
from compression.core.values import Usage, Window, total_tokens
from conversations.errors import Invalid, NotFound, TooLarge
from conversations.gateway import checkpoints, projects
from conversations.gateway.addresses import require_reachable
from conversations.gateway.chat_completions.protocol import CHAT
from conversations.gateway.checkpoints import State
from conversations.gateway.documents import with_texts
from conversations.gateway.held_thoughts import with_held
from conversations.gateway.history import History, parse_history
from conversations.gateway.history_repair import mended, mended_tools, without_surrogates
from conversations.gateway.options import LIMITS, left_out, passed
from conversations.gateway.protocol import Protocol
from conversations.gateway.sealed_thoughts import identity_of
from conversations.llm.profiles import chat_profiles, default_profile
from conversations.models import ModelProfile, Project
from conversations.requests.usage import too_large, too_large_detail
from conversations.validation import clean_text, parse_json

MAX_REPLY_SHARE = 1 / 4
"""A caller's own limit keeps at most this share of the window free: many set it for the largest models."""
MENDED = {"messages": mended, "tools": mended_tools}
"""The fields that are put into a form that strict providers accept."""
EXTRAS = ("tools", "functions", "response_format")
"""Fields whose text is part of the prompt too."""
_UNSTORABLE = re.compile(r"\\u(0000|[dD][89a-fA-F])")
"""Escapes of NUL and of surrogates; only a closer look tells whether a surrogate has its other half."""


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """A parsed call. `own` is the caller's body, and `given` the same with the items that it names of earlier calls.
    `body` is the chat completion that it asks for, without options that only ask for the default.
    """

    given: dict[str, Any]
    body: dict[str, Any]
    profile: ModelProfile
    history: History
    policy: Policy
    protocol: Protocol = CHAT
    own: dict[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """The caller's options that are not forwarded."""
    project: Project | None = None
    """The project that the call belongs to."""

    @property
    def window(self) -> Window:
        """The profile's window with the room that the caller wants for the reply, up to MAX_REPLY_SHARE of it."""
        window = self.profile.usable_window
        if not self.protocol.reserves_limit:
            return window
        wanted = next((self.body[name] for name in LIMITS if type(self.body.get(name)) is int), 0)
        return replace(window, reserve=max(window.reserve, min(wanted, int(MAX_REPLY_SHARE * window.size))))

    @property
    def is_stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def choices(self) -> int:
        """The number of requested answers."""
        wanted = self.body.get("n")
        return wanted if type(wanted) is int else 1

    @property
    def wants_usage(self) -> bool:
        return "stream_options" in self.body

    def usage(self, state: State | None) -> Usage:
        return checkpoints.measured(self.history, state, self.window)

    def is_due(self, state: State | None) -> bool:
        """Whether the history must be compacted, or compacted further, before it is sent."""
        used, place = self.usage(state), state.place if state else 0
        if self.policy.enabled:
            messages = len(self.history.lines) - place
            return self.policy.is_due(used, messages=messages, local=self.profile.is_local)
        return used.over_budget

    def forwarded(self, state: State | None) -> dict[str, Any]:
        """The body with the summary in place of its lines, and a limit within the remaining room.

        Raises TooLarge if even that does not fit.
        """
        used = replace(self.usage(state), window=self.profile.usable_window)
        if used.over_budget:
            raise TooLarge(f"{too_large(used)} (context_length_exceeded)", **too_large_detail(used))
        body = self.body if state is None else self.body | {"messages": checkpoints.assemble(self.history, state)}
        room = max(1, self.window.size - used.total)
        return body | {name: min(body[name], room) for name in LIMITS if name in body}

    def require_possible(self) -> None:
        """Raise TooLarge if instructions and tools alone fill the window: no compaction could make room."""
        used = replace(self.usage(None), window=self.profile.usable_window)
        if used.system > used.window.budget:
            raise TooLarge(f"{too_large(used)} (context_length_exceeded)", **too_large_detail(used))

    def estimated(self, state: State | None) -> int:
        """The request's tokens by our own count, to be compared with the provider's; 0 if some of them are a guess."""
        if not self.history.is_text:
            return 0
        if state is None:
            return self.history.tokens
        sent = total_tokens(state.turns(self.history)) + state.recalled_tokens
        return self.history.fixed_tokens + state.tokens + sent


def parse_request(
    text: str, protocol: Protocol = CHAT, *, owner_id: int = 0, project: Project | None = None
) -> GatewayRequest:
    """The call of a person in a body, with the instructions of its project.

    Raises Invalid, naming the field, or NotFound for an unknown model.
    """
    given = parse_json(text)
    if not isinstance(given, dict):
        raise Invalid("body: must be a JSON object.", field="body")
    if not isinstance(given.get("stream", False), bool | None):
        raise Invalid("stream: must be true or false.", field="stream")
    profile = model_of(given["model"], owner_id) if given.get("model") is not None else _default(owner_id)
    given = {"model": profile.name} | {name: one for name, one in given.items() if name != "model" or one is not None}
    is_storable = _UNSTORABLE.search(text) is None
    own = given if is_storable else without_surrogates(given)
    given = protocol.completed(own, owner_id)
    if project and (instructions := projects.instructions_of(project, window=profile.usable_window.size)):
        given = protocol.instructed(given, instructions)
    dropped = left_out(given, protocol.known)
    body = protocol.read(given, profile)
    body |= {"messages": with_texts(body.get("messages"), profile)}
    body |= {name: mend(body[name]) for name, mend in MENDED.items() if name in body}
    if protocol.whole:
        body |= {"messages": with_held(body["messages"], owner_id, identity_of(profile))}
    extras = [body.get(name) for name in EXTRAS]
    history = parse_history(body.get("messages"), extras, is_storable=is_storable, window=profile.window)
    require_reachable(body["messages"], profile)
    forwarded = passed(body, window=profile.window)
    dropped += tuple(protocol.unoffered(given))
    return GatewayRequest(given, forwarded, profile, history, conf.policy(), protocol, own, dropped, project)


def models(person_id: int) -> list[ModelProfile]:
    """The profiles that a caller may use, by name."""
    return list(chat_profiles(person_id))


def model_of(name: object, person_id: int) -> ModelProfile:
    """The profile with this name, else one with this model id, else the one that GATEWAY_MODELS names."""
    name = clean_text("model", name, limit=200)
    names = [name, *named_by(settings.GATEWAY_MODELS, name)]
    profile = next(filter(None, (_profile(one, person_id) for one in names)), None)
    if profile is None:
        raise NotFound(f"model: there is no model called {name!r}; GET /v1/models lists them.", code="model_not_found")
    return profile


def _default(person_id: int) -> ModelProfile:
    """The model of a call that names none: that of new conversations."""
    if profile := default_profile(person_id):
        return profile
    raise NotFound("model: there is no model here yet.", code="model_not_found")


def _profile(name: str, person_id: int) -> ModelProfile | None:
    found = chat_profiles(person_id).filter(Q(name=name) | Q(model_id=name))
    return found.order_by(Case(When(name=name, then=0), default=1), "id").first()


def named_by(entries: Sequence[str], name: str) -> list[str]:
    """The models that settings such as `claude-*=local` name for a name, in their order."""
    pairs = (entry.partition("=") for entry in entries)
    return [model.strip() for pattern, _, model in pairs if fnmatchcase(name, pattern.strip())]
