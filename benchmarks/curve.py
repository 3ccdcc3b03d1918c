"""Draws what is kept of lived chats against the size of the window: one panel a set of chats, one line a way."""

from __future__ import annotations

from html import escape
from math import log2

COLOURS = {
    "whole history": "#8a8f98", "with recall": "#2f6fde", "without": "#d97757", "LangChain": "#7a4fbf",
    "last messages": "#3f9c6b",
}  # fmt: skip
NAMES = {"beam": "BEAM, six chats of 100,000 tokens", "locomo": "LoCoMo, six chats of 12,000 to 25,000 tokens"}
WIDTH, HEIGHT, LEFT, TOP, PANEL = 460, 340, 48, 48, 340
LOWEST = 0.2
Curves = dict[str, dict[str, list[tuple[float, float]]]]
"""Points (window in tokens, share of the answers' words) by line, by set of chats."""


def picture(curves: Curves) -> str:
    """The picture as SVG."""
    panels = "".join(_panel(number, name, lines) for number, (name, lines) in enumerate(curves.items()))
    width = WIDTH * len(curves)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12"><title>Share of the answers that the model is told, by window</title>'
        f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>{panels}</svg>\n'
    )


def _panel(number: int, name: str, lines: dict[str, list[tuple[float, float]]]) -> str:
    windows = sorted({window for points in lines.values() for window, _ in points})
    first, last = log2(windows[0]), log2(windows[-1])

    def x(window: float) -> float:
        return LEFT + (PANEL - LEFT) * ((log2(window) - first) / ((last - first) or 1))

    def y(share: float) -> float:
        return TOP + (HEIGHT - TOP - 40) * (1 - (share - LOWEST) / (1 - LOWEST))

    parts = [f'<text x="{LEFT}" y="24" font-weight="bold">{escape(NAMES.get(name, name))}</text>']
    for tenth in range(2, 11, 2):
        at = y(tenth / 10)
        parts.append(f'<line x1="{LEFT}" x2="{PANEL}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e3e5e8"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#555">{tenth / 10:.1f}</text>')
    for window in windows:
        parts.append(
            f'<text x="{x(window):.1f}" y="{HEIGHT - 18}" text-anchor="middle" fill="#555">{window / 1024:.0f}k</text>'
        )
    ends = _apart({line: y(sorted(points)[-1][1]) for line, points in lines.items()})
    for line, points in lines.items():
        colour = COLOURS.get(line, "#333")
        path = " ".join(f"{x(window):.1f},{y(share):.1f}" for window, share in sorted(points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<text x="{PANEL + 6}" y="{ends[line] + 4:.1f}" fill="{colour}">{escape(line)}</text>')
    return f'<g transform="translate({WIDTH * number})">{"".join(parts)}</g>'


def _apart(places: dict[str, float]) -> dict[str, float]:
    """The heights of the labels, at least a line of text from one another."""
    apart: dict[str, float] = {}
    lowest = 0.0
    for line, place in sorted(places.items(), key=lambda item: item[1]):
        apart[line] = lowest = max(place, lowest + 15)
    return apart
