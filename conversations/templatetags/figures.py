"""Template filters for figures and charts of the usage and analytics pages; a missing figure is "–"."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from conversations.analytics import svg_charts
from conversations.analytics.charts import SIZES, Chart, labelled
from conversations.analytics.totals import Tally
from conversations.runtime.amounts import localized

register = template.Library()


@register.filter
def drawn(chart: Chart) -> SafeString:
    return svg_charts.chart_svg(chart)


@register.filter
def brief(number: float) -> str:
    """A number with three significant digits, as in 12.3M."""
    for size, letter in SIZES:
        if abs(number) >= size:
            return localized(f"{number / size:.3g}{letter}")
    return localized(f"{number:,.0f}")


@register.filter
def dollars(amount: Decimal) -> str:
    return labelled(float(amount), "usd")


@register.filter
def share(part: float | None) -> str:
    """A share from 0 to 1, in percent."""
    return labelled(None if part is None else 100 * part, "percent")


@register.filter
def percentage(value: float | None) -> str:
    return labelled(value, "percent")


@register.filter
def time(ms: int | None) -> str:
    return labelled(ms, "ms")


@register.filter
def cost(tally: Tally) -> str:
    """The known cost of requests in US dollars."""
    return _("not known") if tally.unpriced and not tally.cost else dollars(tally.cost)


@register.filter
def worth(tally: Tally) -> str:
    """The known worth of the saved tokens in US dollars."""
    return _("not known") if tally.saved_unpriced and not tally.worth else dollars(tally.worth)
