"""The models of this site as Codex reads them: it takes the context window from this list.

Form: `ModelsResponse` of codex-rs/protocol/src/openai_models.rs (Codex 0.169), which has no default for most fields.
"""

from __future__ import annotations

from collections.abc import Sequence

from conversations.gateway.protocol import Json
from conversations.models import ModelProfile

CLIENT_VERSION = "client_version"
"""The query parameter that Codex, and no other client, sends with its request for models."""
INSTRUCTIONS = """\
You are a coding agent in Codex CLI, a program in a person's terminal. You work in their repository by the tools that \
you are given, until the task is done.

- Before you change code, read it and the instructions in AGENTS.md files; files deeper in the tree go first.
- Say in a sentence what you are about to do before a group of tool calls. Keep a plan where the task has several steps.
- Change files by `apply_patch` where you have it. Keep changes small, in the style of the code around them, and about \
the task alone. Leave commits and branches alone unless you are asked for them.
- Search with `rg`. Read long files in parts.
- Run the tests or the build of what you changed, and repair what fails because of you.
- Some commands need the person's approval, as the environment says. Ask with a reason in one sentence.
- Where something is unclear, choose what the person most likely wants, and say what you assumed.
- End with a short account: what changed, in which files, what you checked, what is left. Name files by path and line.
"""
"""Instructions of a model that Codex does not know: the field is required, and Codex takes them from this list."""
TOOL_OUTPUT_BYTES = 10_000
"""The length at which Codex cuts a tool's output, as for models that it does not know."""


def listed(profiles: Sequence[ModelProfile]) -> Json:
    """All models, in the order of the profiles."""
    return {"models": [_described(profile, place) for place, profile in enumerate(profiles)]}


def _described(profile: ModelProfile, place: int) -> Json:
    return {
        "slug": profile.name,
        "display_name": profile.name,
        "description": None,
        "context_window": profile.usable_window.size,
        "priority": place,
        "visibility": "list",
        "supported_in_api": True,
        "base_instructions": INSTRUCTIONS,
        "shell_type": "shell_command",
        "apply_patch_tool_type": "function",
        "supports_parallel_tool_calls": True,
        "truncation_policy": {"mode": "bytes", "limit": TOOL_OUTPUT_BYTES},
        "default_reasoning_level": None,
        "supported_reasoning_levels": [],
        "supports_reasoning_summaries": False,
        "support_verbosity": False,
        "default_verbosity": None,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"],
        "upgrade": None,
    }
