"""Builds the charts of /admin/analytics/ from the site's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from compression import analytics
from compression.analytics import ANOTHER_MODEL, OTHER, Run, percentile
from compression.core.extractive.summariser import Extractive
from compression.core.truncation import Truncation
from compression.days import Days
from compression.models import Compaction
from conversations.analytics.charts import Chart, Series, labelled
from conversations.analytics.comparisons import ComparisonGroup, mean_agreement
from conversations.analytics.site import Overview
from conversations.analytics.totals import Tallies, Tally, grouped, total
from conversations.runtime.amounts import amount, localized

Trigger = Compaction.Trigger
MAX_REASONS = 8
LEVELS = ((0.5, gettext_noop("half within")), (0.95, gettext_noop("95 % within")), (0.99, gettext_noop("99 % within")))
TRIGGERS = (
    (gettext_noop("by itself"), (Trigger.AUTO, Trigger.AHEAD)),
    (gettext_noop("asked for"), (Trigger.MANUAL, Trigger.API)),
    (gettext_noop("emergency"), (Trigger.EMERGENCY,)),
)
SUBSTITUTES = (
    (ANOTHER_MODEL, gettext_noop("another model")),
    (Extractive.name, gettext_noop("selected from the text")),
    (Truncation.name, gettext_noop("a note in its place")),
)
"""The summarisers that replace the first choice, with their labels."""


@dataclass(frozen=True, slots=True)
class Board:
    """Builds series by day; their labels are the days."""

    days: Days

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(date_format(day, _("M j")) for day in self.days.dates)

    def tallies(self, name: str, of: Tallies, value: Callable[[Tally], float]) -> Series:
        """A value of each day's requests, 0 on days without requests."""
        by_day = grouped(of, lambda kind: kind.day)
        return Series(name, tuple(value(by_day.get(day, Tally())) for day in self.days.dates))

    def runs(self, name: str, of: Sequence[Run], value: Callable[[list[Run]], float | None]) -> Series:
        return Series(name, tuple(value(runs) for runs in analytics.by_day(of, self.days)))

    def percentiles(self, times: Sequence[tuple[object, int | None]]) -> tuple[Series, ...]:
        """The percentiles of each day's times, in milliseconds."""
        times_by_day: dict[object, list[int]] = {day: [] for day in self.days.dates}
        for day, ms in times:
            if ms is not None:
                times_by_day[day].append(ms)
        ordered = [sorted(day_times) for day_times in times_by_day.values()]
        return tuple(
            Series(_(name), tuple(percentile(day_times, share) for day_times in ordered)) for share, name in LEVELS
        )


def of_requests(overview: Overview, days: Days) -> list[Chart]:
    """The charts of replies and gateway calls: savings, tokens, times and failures."""
    board = Board(days)
    labels = board.labels
    return [
        Chart(
            _("Tokens saved"),
            "tokens",
            labels,
            (
                board.tallies(_("replies"), overview.replies, lambda tally: tally.saved),
                board.tallies(_("gateway"), overview.calls, lambda tally: tally.saved),
            ),
            note=_("The tokens that requests would have had without compaction, less their own."),
        ),
        Chart(
            _("Money saved"),
            "usd",
            labels,
            (
                board.tallies(_("saved on prompts"), overview.answers, lambda tally: float(tally.worth)),
                board.tallies(_("paid for summaries"), overview.paid, lambda tally: -float(tally.cost)),
            ),
            note=_savings_note(overview),
        ),
        Chart(
            _("Tokens of requests"),
            "tokens",
            labels,
            (
                board.tallies(_("prompt"), overview.requests, lambda tally: tally.prompt - tally.cached),
                board.tallies(_("prompt, cached"), overview.requests, lambda tally: tally.cached),
                board.tallies(_("answer"), overview.requests, lambda tally: tally.completion),
            ),
            note=_("As the providers report them, requests for summaries included."),
        ),
        Chart(
            _("Time of a reply"),
            "ms",
            labels,
            board.percentiles([(wait.day, wait.ms) for wait in overview.waits]),
            "lines",
            note=_("From the question to the end of its reply."),
        ),
        Chart(
            _("Time to the first words"),
            "ms",
            labels,
            board.percentiles([(wait.day, wait.first_ms) for wait in overview.waits]),
            "lines",
            note=_("From the question to the first words of its reply."),
        ),
        _ranked(
            _("Why requests failed"),
            (_("replies"), _reasons(overview.replies)),
            (_("gateway"), _reasons(overview.calls)),
            note=_("Replies and calls of the gateway that ended with an error."),
        ),
    ]


def of_compactions(overview: Overview, days: Days) -> list[Chart]:
    """The charts of compactions: triggers, reduction, facts kept, times, failures and substitutes."""
    board = Board(days)
    labels, runs = board.labels, overview.runs
    done = [run for run in runs if run.is_in_force]
    passed, failed = analytics.failures(runs)
    stood_in = analytics.substitutes(runs)
    return [
        Chart(
            _("Compactions"),
            "count",
            labels,
            tuple(
                board.runs(_(name), runs, lambda of, among=among: sum(run.trigger in among for run in of))  # type: ignore[misc]
                for name, among in TRIGGERS
            ),
            note=_("%(kept)s of %(found)s were put in force.")
            % {"kept": amount(len(done)), "found": amount(len(runs))},
        ),
        Chart(
            _("Reduction"),
            "percent",
            labels,
            tuple(board.runs(_(name), done, _reduction(share)) for share, name in REDUCTIONS),
            "lines",
            note=_("How much shorter a summary is than its messages."),
        ),
        Chart(
            _("Facts kept"),
            "percent",
            labels,
            (
                board.runs(_("kept"), done, _kept_percent),
                board.runs(_("without repair"), done, _kept_percent_without_repair),
            ),
            "lines",
            note=_(
                "Of the checked facts. Facts that a summary lacks are restored; without that, there would be fewer."
            ),
        ),
        Chart(
            _("Time of a compaction"),
            "ms",
            labels,
            board.percentiles([(run.day, run.ms) for run in done]),
            "lines",
            note=_("From its start to its end; nobody waits for those that are prepared ahead."),
        ),
        _ranked(
            _("Why summaries failed"),
            (_("another stepped in"), passed),
            (_("nothing was compacted"), failed),
            note=_("The reasons of failed summarisers and failed compactions."),
        ),
        Chart(
            _("Who stepped in"),
            "count",
            tuple(_(name) for _key, name in SUBSTITUTES),
            (Series(_("compactions"), tuple(stood_in[key] for key, _name in SUBSTITUTES)),),
            "ranks",
            note=_("%(share)s of the summaries in force were not written by the first choice.")
            % {"share": _share(stood_in.total(), len(done))},
        ),
    ]


def of_comparisons(overview: Overview) -> list[Chart]:
    """The charts of replies compared with answers from the whole history; none where there are no such replies.

    Grades of another judge are no part of them, since they cannot be compared.
    """
    rows = [row for row in overview.compared if row.judge == settings.SHADOW_JUDGE]
    if not rows:
        return []
    replies = sum(row.replies for row in rows)
    sent, full = sum(row.sent_tokens for row in rows), sum(row.full_tokens for row in rows)
    note = ngettext(
        "%(replies)s reply, with %(share)s of the tokens of the whole history.",
        "%(replies)s replies, with %(share)s of the tokens of the whole history.",
        replies,
    ) % {"replies": amount(replies), "share": _share(sent, full)}
    way = (
        _("Graded by %(judge)s.") % {"judge": settings.SHADOW_JUDGE}
        if settings.SHADOW_JUDGE
        else _("The share of words in common.")
    )
    return [
        _agreement(_("Agreement with the whole history, by model"), rows, lambda row: row.model, f"{way} {note}"),
        _agreement(_("Agreement, by strategy"), rows, lambda row: row.strategy, way),
        _agreement(_("Agreement, by prompt for summaries"), rows, _prompt, way),
    ]


def _prompt(row: ComparisonGroup) -> str:
    return row.prompt or _("no model")


def _agreement(title: str, rows: list[ComparisonGroup], by: Callable[[ComparisonGroup], str], note: str) -> Chart:
    means = list(mean_agreement(rows, by).items())[:MAX_REASONS]
    labels = tuple(f"{name} ({amount(replies)})" for name, (replies, _mean) in means)
    values = tuple(round(100 * mean, 1) for _name, (_replies, mean) in means)
    return Chart(title, "percent", labels, (Series(_("agreement"), values),), "ranks", note)


REDUCTIONS = ((0.1, gettext_noop("a tenth below")), (0.5, gettext_noop("median")), (0.9, gettext_noop("a tenth above")))


def _reduction(share: float) -> Callable[[list[Run]], float | None]:
    def of(runs: list[Run]) -> float | None:
        return percentile(sorted(run.reduction for run in runs if run.reduction is not None), share)

    return of


def _kept_percent(runs: list[Run]) -> float | None:
    facts = sum(run.found for run in runs)
    return 100 * sum(run.kept for run in runs) / facts if facts else None


def _kept_percent_without_repair(runs: list[Run]) -> float | None:
    facts = sum(run.found for run in runs)
    return 100 * sum(run.kept - run.repaired for run in runs) / facts if facts else None


def _reasons(of: Tallies) -> Counter[str]:
    return Counter(
        {reason: tally.requests for reason, tally in grouped(of, lambda kind: kind.reason).items() if reason}
    )


def _ranked(title: str, *columns: tuple[str, Counter[str]], note: str) -> Chart:
    """A ranking of the MAX_REASONS most common reasons; the others share one row."""
    named = [Counter({_reason(code): number for code, number in column.items()}) for _name, column in columns]
    other = _reason(OTHER)
    order = [reason for reason, _number in sum(named, Counter()).most_common() if reason != other]
    shown = order[:MAX_REASONS]
    for column in named:
        rest = sum(number for reason, number in column.items() if reason not in shown)
        column[other] = rest
    labels = (*shown, *([other] if any(column[other] for column in named) else []))
    series = tuple(
        Series(name, tuple(column[label] for label in labels))
        for (name, _column), column in zip(columns, named, strict=True)
    )
    return Chart(title, "count", labels, series, "ranks", note)


def _reason(code: str) -> str:
    """An error code in words."""
    return _(code.replace("_", " "))


def _savings_note(overview: Overview) -> str:
    tallies = total(overview.answers.values())
    paid = total(overview.paid.values())
    net = float(tallies.worth - paid.cost)
    note = _("Saved tokens at what each request paid for its prompt, less what summaries cost: %(money)s.")
    note %= {"money": labelled(net, "usd")}
    if tallies.saved_unpriced:
        unpriced = _("The worth of %(tokens)s saved tokens is not known: their models have no prices.")
        note += " " + unpriced % {"tokens": amount(tallies.saved_unpriced)}
    return note


def _share(part: int, whole: int) -> str:
    return localized(f"{100 * part / whole:.1f} %") if whole else _("Nothing")
