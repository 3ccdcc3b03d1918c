"""Decides which options of a call are forwarded: those with a known cost and no reach beyond the model.

Others are left out, and a header names them: they refer to texts stored elsewhere, buy another service, replace the
model's template, or lead a proxy behind this site to another address. An administrator adds those that their own server
needs, or has all others refused.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

from conversations.errors import Invalid

MOST_CHOICES = 4
"""The most answers to one call; each costs as much as a reply, and is counted as the provider reports it."""
PASSED = frozenset(
    [
        "model",
        "messages",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "stop",
        "seed",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "top_a",
        "typical_p",
        "frequency_penalty",
        "presence_penalty",
        "repetition_penalty",
        "repeat_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "functions",
        "function_call",
        "response_format",
        "reasoning_effort",
        "reasoning",
        "thinking",
        "enable_thinking",
        "verbosity",
        "chat_template_kwargs",
        "modalities",
        "user",
        "safety_identifier",
        "prompt_cache_key",
    ]
)
"""Options for sampling, tools, formats and thinking, and names that only identify the caller's own requests."""
NEEDED = ("conversation", "previous_response_id", "prompt")
"""Options that cannot be left out: they refer to stored objects that the site does not have."""
DROP, REFUSE = "drop", "refuse"
"""The values of GATEWAY_UNKNOWN_OPTIONS: options that do not pass are left out, or refused."""
LIMITS = ("max_completion_tokens", "max_tokens")
UNLIMITED = (0, -1)
"""Limits by which clients say that they set none."""
TOOLS = ("function", "custom")
_TEMPLATES_OWN = {"chat_template", "tokenize", "messages", "tools", "documents"}


def left_out(given: dict[str, Any], known: frozenset[str] | None) -> tuple[str, ...]:
    """The names of the caller's options that do not pass, in order; `known` are those of its protocol (None: chat
    completions).

    Raises Invalid, naming the field, if an administrator has them refused, or if the answer needs the option.
    """
    allowed = PASSED | set(settings.GATEWAY_OPTIONS) if known is None else known
    names = sorted(name for name in given.keys() - allowed if not _is_default(name, given[name]))
    for name in names:
        if name in NEEDED or settings.GATEWAY_UNKNOWN_OPTIONS == REFUSE:
            raise _refused(name)
    return tuple(names)


def passed(body: dict[str, Any], *, window: int) -> dict[str, Any]:
    """The body to forward. Raises Invalid, naming the field, for an option with a value that must not pass.

    Limits are lowered to the profile's `window`: programs set them for the largest models.
    """
    allowed = PASSED | set(settings.GATEWAY_OPTIONS)
    _require_choices(body.get("n"))
    for name in LIMITS:
        _require_limit(name, body.get(name))
    _require_tools(body.get("tools"))
    if "chat_template_kwargs" not in settings.GATEWAY_OPTIONS:
        _require_arguments(body.get("chat_template_kwargs"))
    if "modalities" not in settings.GATEWAY_OPTIONS and body.get("modalities") not in (None, ["text"]):
        raise Invalid('modalities: only ["text"] passes this gateway.', field="modalities")
    unset = {name for name in LIMITS if body.get(name) in (None, *UNLIMITED)}
    if not body.get("tools"):  # OpenAI refuses an empty list, and options about tools without any
        unset |= {"tools", "parallel_tool_calls"}
        unset |= {"tool_choice"} if body.get("tool_choice") in (None, "auto", "none") else set()
    lowered = {name: min(body[name], window) for name in LIMITS if name not in unset}
    return {name: value for name, value in body.items() if name in allowed - unset} | lowered


def _is_default(name: str, value: object) -> bool:
    """Whether an option only asks for the default, as some clients always do; it is left out then."""
    default = {"store": (False,), "service_tier": ("auto", "default")}.get(name, ())
    return value in (None, False, "", [], {}) or value in default


def _refused(name: str) -> Invalid:
    field = name[:100]
    return Invalid(
        f"{field}: this option does not pass this gateway. An administrator can allow it by GATEWAY_OPTIONS.",
        field=field,
    )


def _require_choices(wanted: object) -> None:
    if wanted is not None and (type(wanted) is not int or not 1 <= wanted <= MOST_CHOICES):
        raise Invalid(f"n: a whole number from 1 to {MOST_CHOICES}.", field="n", limit=MOST_CHOICES)


def _require_limit(name: str, wanted: object) -> None:
    if wanted is not None and (type(wanted) is not int or (wanted < 1 and wanted not in UNLIMITED)):
        raise Invalid(f"{name}: must be a whole number of at least 1.", field=name)


def _require_tools(tools: object) -> None:
    """Raise Invalid for tools other than functions: the provider would carry them out, and charge for them."""
    if tools is None or "tools" in settings.GATEWAY_OPTIONS:
        return
    if not isinstance(tools, list):
        raise Invalid("tools: must be a list.", field="tools")
    for place, tool in enumerate(tools):
        if not isinstance(tool, dict) or tool.get("type", TOOLS[0]) not in TOOLS:
            field = f"tools[{place}].type"
            raise Invalid(f"{field}: only {' and '.join(TOOLS)} pass this gateway.", field=field)


def _require_arguments(arguments: object) -> None:
    """Raise Invalid for template arguments other than switches, such as another template."""
    if arguments is None:
        return
    field = "chat_template_kwargs"
    if not isinstance(arguments, dict) or _TEMPLATES_OWN & arguments.keys():
        raise Invalid(f"{field}: an object of switches, without a template.", field=field)
    if not all(value is None or isinstance(value, str | int | float | bool) for value in arguments.values()):
        raise Invalid(f"{field}: switches are text, numbers, true or false.", field=field)
