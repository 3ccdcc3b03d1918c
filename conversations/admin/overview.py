"""/admin/: what an administrator looks at first, in tiles, and the site's latest compactions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from django.views.decorators.http import require_GET

from compression.analytics import Figures, figures
from compression.days import Days
from compression.models import Compaction
from conversations.analytics import site
from conversations.analytics.totals import Tally, grouped, total
from conversations.llm.profiles import enabled
from conversations.models import Conversation, ModelProfile, ToolServer
from conversations.runtime.amounts import amount, localized
from conversations.templatetags.sections import may_view

PERIOD = 30
"""Days of the tile of analytics and of the compactions' figures."""
SHOWN = 12
LOW_PERCENT = 90
"""A compaction that keeps a smaller share of the facts is shown in another colour."""
WEEK = timedelta(days=7)
FILTERS = {
    "": gettext_noop("All"),
    "low": gettext_noop("Below %(percent)s % of facts"),
    "undone": gettext_noop("Undone"),
    "failed": gettext_noop("Failed"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in percent of the largest one, from the top."""

    height: int

    @property
    def top(self) -> int:
        return 100 - self.height


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure with its words, and the section that it leads to."""

    name: str
    icon: str
    address: str
    figure: int
    words: str
    bars: tuple[Bar, ...] = ()
    """Values by day."""


@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    tiles = [tile() for model, tile in TILES.items() if may_view(request, model)]
    context = {**admin.site.each_context(request), "title": _("Overview"), "tiles": tiles}
    if may_view(request, "compression.Compaction"):
        tile, quality = _analytics(datetime.now(UTC).date())
        show = request.GET.get("show", "")
        show = show if show in FILTERS else ""
        context |= {
            "tiles": [*tiles, tile],
            "quality": quality,
            "period": PERIOD,
            "filters": [(_named(value), f"?{urlencode({'show': value})}", value == show) for value in FILTERS],
            "compactions": _latest(show).annotate(low=F("facts_found") * LOW_PERCENT / 100)[:SHOWN],
        }
    return render(request, "admin/overview.html", context)


@require_GET
def site_page(request: HttpRequest) -> HttpResponse:
    """Every table of the site that the person may see: the index of Django's administration."""
    return admin.site.index(request, {"title": _("Site")})


def _latest(show: str) -> QuerySet[Compaction]:
    """The compactions of one of FILTERS, the latest first, without those under way and those that found nothing."""
    rows = Compaction.objects.select_related("conversation__owner", "conversation__parent").order_by(
        "-created_at", "-id"
    )
    in_force = rows.filter(status__in=Compaction.IN_FORCE)
    return {
        "": rows.filter(status__in=[*Compaction.IN_FORCE, Compaction.Status.FAILED]),
        "low": in_force.filter(facts_kept__lt=F("facts_found") * LOW_PERCENT / 100),
        "undone": rows.filter(status=Compaction.Status.UNDONE),
        "failed": rows.filter(status=Compaction.Status.FAILED),
    }[show]


def _named(show: str) -> str:
    return _(FILTERS[show]).replace("%(percent)s", str(LOW_PERCENT))


def _people() -> Tile:
    people = get_user_model().objects.filter(is_active=True).count()
    week = Conversation.objects.filter(updated_at__gte=timezone.now() - WEEK)
    active = week.order_by().values("owner").distinct().count()
    return Tile(_("People"), "people", reverse("admin:conversations_user_changelist"), people, _active(active))


def _active(number: int) -> str:
    return _("%(number)s active this week") % {"number": amount(number)}


def _models() -> Tile:
    rows = list(enabled().values_list("is_local", "role"))
    local, chats = sum(is_local for is_local, _ in rows), sum(role == ModelProfile.Role.CHAT for _, role in rows)
    address = reverse("admin:conversations_modelprofile_changelist")
    words = _("%(chats)s for chats, %(local)s local") % {"chats": amount(chats), "local": amount(local)}
    return Tile(_("Models"), "models", address, len(rows), words)


def _tools() -> Tile:
    servers = list(ToolServer.objects.values_list("enabled", "allowed"))
    allowed = sum(len(names) for is_enabled, names in servers if is_enabled)
    off = sum(not is_enabled for is_enabled, _ in servers)
    number = len(servers) - off
    words = ngettext("from %(number)s server", "from %(number)s servers", number) % {"number": amount(number)}
    words += _(", %(number)s switched off") % {"number": amount(off)} if off else ""
    address = reverse("admin:conversations_toolserver_changelist")
    return Tile(_("Tools"), "tools", address, allowed, words)


def _conversations() -> Tile:
    rows = Conversation.objects.filter(parent=None)
    week = rows.filter(updated_at__gte=timezone.now() - WEEK).count()
    address = reverse("admin:conversations_conversation_changelist")
    return Tile(_("Conversations"), "conversations", address, rows.count(), _active(week))


def _analytics(today: date) -> tuple[Tile, Figures]:
    """(the tile of the tokens saved in PERIOD, the figures of its compactions)."""
    days = Days.until(today, PERIOD)
    everything = site.overview_of(days, today=today)
    answers, paid = total(everything.answers.values()), total(everything.paid.values())
    by_day = grouped(everything.answers, lambda kind: kind.day)
    saved = [max(0, by_day.get(day, Tally()).saved) for day in days.dates]
    most = max(saved) or 1
    net = answers.worth - paid.cost
    words = _("tokens saved in %(days)s days") % {"days": PERIOD}
    words += _(", %(money)s net") % {"money": localized(f"${net:,.2f}")} if answers.worth else ""
    bars = tuple(Bar(round(100 * one / most)) for one in saved)
    tile = Tile(_("Analytics"), "analytics", reverse("analytics"), answers.saved, words, bars)
    return tile, figures(everything.runs)


TILES = {
    "conversations.User": _people,
    "conversations.ModelProfile": _models,
    "conversations.ToolServer": _tools,
    "conversations.Conversation": _conversations,
}
"""The tile of each model, for those who may view it."""
