"""Reads a model's context window from the answers of servers and hosts of models.

The shapes are those of the servers' public documentation. An answer of another shape, or a number that no window has,
is read as no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from conversations.llm.providers.listed_models import listed_models

SMALLEST, LARGEST = 512, 100_000_000
"""The bounds of a plausible window, in tokens."""
LISTED = (
    *("context_length", "context_window", "context_size", "max_context_length"),  # OpenRouter, Groq, Novita, Mistral
    *("max_input_tokens", "inputTokenLimit"),  # GitHub, Google
    *("max_context_window_tokens", "availableContextTokens"),  # Copilot, Venice
)
"""The fields of a listed model with its window, at these hosts and at others like them."""
PLACES = ("top_provider", "metadata", "limits", "model_spec")
"""The objects of a listed model that have these fields too, at OpenRouter, DeepInfra, GitHub and Venice."""
_NUM_CTX = re.compile(r"^num_ctx\s+(\d{1,12})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Window:
    """A window in tokens as `server` names it.

    `in_effect`: the server reads so much. Otherwise it is the most that the model can be loaded with. `of_host`: a
    field of hosts of models has it; at a server that somebody runs, it may only be the model's own limit.
    """

    tokens: int
    server: str
    in_effect: bool = True
    of_host: bool = False


def ollama_loaded(body: Any, model: str) -> Window | None:
    """GET /api/ps: `models[].context_length` of the loaded model."""
    for row in _rows(body, "models"):
        if _tagged(model) in (_tagged(row.get("name")), _tagged(row.get("model"))):
            return _window(row.get("context_length"), "Ollama")
    return None


def ollama_model(body: Any, model: str) -> Window | None:
    """POST /api/show: `num_ctx` among `parameters`, else `model_info["*.context_length"]`, the model's own limit."""
    if not isinstance(body, dict):
        return None
    parameters, facts = body.get("parameters"), body.get("model_info")
    found = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    if found and (window := _window(int(found[1]), "Ollama")):
        return window
    lengths = facts.items() if isinstance(facts, dict) else ()
    limit = next((value for name, value in lengths if str(name).endswith(".context_length")), None)
    return _window(limit, "Ollama", in_effect=False)


def llama_cpp(body: Any, model: str) -> Window | None:
    """GET /props: `default_generation_settings.n_ctx`, the window of one slot."""
    settings = body.get("default_generation_settings") if isinstance(body, dict) else None
    return _window(settings.get("n_ctx"), "llama.cpp") if isinstance(settings, dict) else None


def openai_models(body: Any, model: str) -> Window | None:
    """GET /v1/models: `data[].max_model_len` of vLLM and SGLang, or the smallest of LISTED."""
    rows = list(listed_models(body))
    names = (model, model.rsplit(":", 1)[0])  # OpenRouter's ":nitro" and ":online" are not listed
    named = [row for name in names for id, row in rows if name in (id, row.get("id"), row.get("root"))]
    for row in named or ([rows[0][1]] if len(rows) == 1 else []):
        owner = row.get("owned_by")
        server = {"vllm": "vLLM", "sglang": "SGLang"}.get(owner if isinstance(owner, str) else "", "its list of models")
        places = (row, *(one for place in PLACES if isinstance(one := row.get(place), dict)))
        if window := _window(row.get("max_model_len"), server):
            return window
        listed = [_window(one.get(field), server) for one in places for field in LISTED]
        smallest = min((window for window in listed if window), key=lambda window: window.tokens, default=None)
        return replace(smallest, of_host=True) if smallest else None
    return None


def lm_studio(body: Any, model: str) -> Window | None:
    """GET /api/v0/models: `loaded_context_length`, else `max_context_length`, the model's own limit."""
    row = next((row for row in _rows(body, "data") if row.get("id") == model), {})
    loaded = _window(row.get("loaded_context_length"), "LM Studio")
    return loaded or _window(row.get("max_context_length"), "LM Studio", in_effect=False)


def litellm(body: Any, model: str) -> Window | None:
    """GET /model/info: the least `model_info.max_input_tokens` of the deployments with the model's name."""
    facts = [row.get("model_info") for row in _rows(body, "data") if row.get("model_name") == model]
    named = [_window(fact.get("max_input_tokens"), "LiteLLM") for fact in facts if isinstance(fact, dict)]
    return min((window for window in named if window), key=lambda window: window.tokens, default=None)


@dataclass(frozen=True, slots=True)
class Query:
    """A request that a kind of server answers: its path, below the server's root or its API, and how it is read."""

    path: str
    read: Callable[[Any, str], Window | None]
    below_api: bool = False
    names_model: bool = False
    """The model is named in a JSON body, sent by POST."""


QUERIES = (
    Query("/api/ps", ollama_loaded),
    Query("/api/v0/models", lm_studio),
    Query("/props", llama_cpp),
    Query("/models", openai_models, below_api=True),
    Query("/model/info", litellm),
    Query("/api/show", ollama_model, names_model=True),
)
"""Fields in order of trust: the first answer of a window that is in effect counts, else the first limit of a model."""


def best(windows: list[Window | None]) -> Window | None:
    """The answer that counts, of the answers in the order of QUERIES."""
    known = [window for window in windows if window]
    return next((window for window in known if window.in_effect), known[0] if known else None)


def _window(tokens: Any, server: str, *, in_effect: bool = True) -> Window | None:
    if type(tokens) is not int or not SMALLEST <= tokens <= LARGEST:
        return None
    return Window(tokens, server, in_effect)


def _rows(body: Any, name: str) -> Iterator[dict[str, Any]]:
    rows = body.get(name) if isinstance(body, dict) else None
    return (row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict))


def _tagged(name: Any) -> str | None:
    """A model's name with its tag, as Ollama completes it."""
    if not isinstance(name, str) or not name:
        return None
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"
