"""Says in words how a model's context window is known, and that its server was found to read less."""

from __future__ import annotations

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from conversations.llm.windows.windows import FOUND_SMALLER, REFUSED
from conversations.models import ModelProfile
from conversations.runtime.amounts import amount

Source = ModelProfile.WindowSource


def how_known(profile: ModelProfile) -> str:
    """How and when the window became known, for administrators; with the window that it replaced."""
    source = Source(profile.window_source)
    words = _(source.label)
    if source is Source.ASKED and profile.window_server:
        words = _("asked of %(server)s") % {"server": profile.window_server}
    elif profile.window_server:
        words += _(", at most what %(server)s says that the model can read") % {"server": profile.window_server}
    if profile.window_replaced:
        words += _(", in place of %(tokens)s") % {"tokens": amount(profile.window_replaced)}
    return f"{words[:1].upper()}{words[1:]}{_when(profile)}."


def window(profile: ModelProfile | None) -> str:
    """A sentence with the set or found window, and the part that requests and replies use; "" without a model."""
    if profile is None:
        return ""
    used = profile.usable_window.size
    if used == profile.window:
        return _("The window has %(tokens)s tokens.") % {"tokens": amount(profile.window)}
    words = _(
        "The window has %(tokens)s tokens; %(used)s of them are used: a local model's tokens can only be estimated."
    )
    return words % {"tokens": amount(profile.window), "used": amount(used)}


def lowered(profile: ModelProfile | None) -> str:
    """A sentence for people about a server that reads less than the profile's window was; "" for any other."""
    if profile is None or not profile.window_replaced or profile.window_replaced <= profile.window:
        return ""
    how = {
        Source.ASKED.value: _("as it says itself"),
        Source.COUNTED.value: _("by the tokens that it counts"),
        Source.MARK.value: _("as the model no longer saw the beginning"),
    }.get(profile.window_source, "")
    found = profile.window_evidence.get(FOUND_SMALLER)
    figures = {
        "model": profile.name,
        "how": f"{how}{_when(profile)}",
        "replaced": amount(profile.window_replaced),
        "tokens": amount(profile.window),
    }
    if found is not None:
        words = _(
            "The server of %(model)s was found to read only %(found)s tokens, %(how)s: it leaves out the beginning of "
            "longer requests. An administrator set its window to %(replaced)s; the site halved it to %(tokens)s and "
            "lowers it no further. Please have the window corrected."
        )
        return words % (figures | {"found": amount(found)})
    if profile.window_evidence.get(REFUSED) == profile.window:
        words = _(
            "The server of %(model)s takes %(tokens)s tokens, not %(replaced)s: it refused a longer request. From now "
            "on it is asked for no more."
        )
        return words % figures
    words = _(
        "The server of %(model)s reads %(tokens)s tokens, not %(replaced)s: %(how)s. It left out the beginning of what "
        "is longer; from now on it is asked for no more."
    )
    return words % figures


def _when(profile: ModelProfile) -> str:
    if profile.window_known_at is None:
        return ""
    return f", {date_format(timezone.localtime(profile.window_known_at), _('j F Y, H:i'))}"
