"""Says in words how a model's context window is known, and that its server was found to read less."""

from __future__ import annotations

from django.utils import timezone
from django.utils.formats import date_format

from conversations.llm.windows import FOUND_SMALLER
from conversations.models import ModelProfile

Source = ModelProfile.WindowSource


def how_known(profile: ModelProfile) -> str:
    """How and when the window became known, for administrators; with the window that it replaced."""
    source = Source(profile.window_source)
    words = f"Asked of {profile.window_server}" if source is Source.ASKED and profile.window_server else source.label
    if source is not Source.ASKED and profile.window_server:
        words += f", at most what {profile.window_server} says that the model can read"
    before = f", in place of {profile.window_replaced:,}" if profile.window_replaced else ""
    return f"{words[:1].upper()}{words[1:]}{before}{_when(profile)}."


def window(profile: ModelProfile | None) -> str:
    """The window as it was set or found, and how much of it requests and replies use; "" without a model."""
    if profile is None:
        return ""
    used = profile.usable_window.size
    if used == profile.window:
        return f"The window has {profile.window:,} tokens."
    why = "a local model's tokens can only be estimated"
    return f"The window has {profile.window:,} tokens; {used:,} of them are used: {why}."


def lowered(profile: ModelProfile | None) -> str:
    """That the server reads less than the profile's window was, for people; "" if it does not."""
    if profile is None or not profile.window_replaced or profile.window_replaced <= profile.window:
        return ""
    how = {
        Source.ASKED.value: "as it says itself",
        Source.COUNTED.value: "by the tokens that it counts",
        Source.MARK.value: "as the model no longer saw the beginning",
    }.get(profile.window_source, "")
    found = profile.window_evidence.get(FOUND_SMALLER)
    if found is not None:
        return (
            f"The server of {profile.name} was found to read only {found:,} tokens, {how}{_when(profile)}: it leaves "
            f"out the beginning of longer requests. An administrator set its window to {profile.window_replaced:,}; "
            f"the site halved it to {profile.window:,} and lowers it no further. Please have the window corrected."
        )
    return (
        f"The server of {profile.name} reads {profile.window:,} tokens, not {profile.window_replaced:,}: {how}"
        f"{_when(profile)}. It left out the beginning of what is longer; from now on it is asked for no more."
    )


def _when(profile: ModelProfile) -> str:
    if profile.window_known_at is None:
        return ""
    return f", {date_format(timezone.localtime(profile.window_known_at), 'j F Y, H:i')}"
