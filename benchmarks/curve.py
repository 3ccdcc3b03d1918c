"""Draws what is kept of lived chats against the tokens of a request: one panel a set of chats, one line a way."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log2

COLOURS = {
    "whole history": "#8a8f98", "with recall": "#2f6fde", "without recall": "#d97757", "short": "#1d3f8a",
    "LangChain": "#7a4fbf", "LlamaIndex": "#b8457f", "BM25": "#9a7b1f", "last messages": "#3f9c6b",
}  # fmt: skip
NAMES = {"beam": "BEAM, six chats of 100,000 tokens", "locomo": "LoCoMo, six chats of 12,000 to 25,000 tokens"}
WIDTH, HEIGHT, LEFT, TOP, PANEL = 460, 340, 48, 48, 340
LOWEST = 0.2
Curves = dict[str, dict[str, list[tuple[float, float]]]]
"""Points (tokens of a request, share of the answers' words) by line, by set of chats.

The whole history has no tokens of its own: it is drawn as a level.
"""


def picture(curves: Curves) -> str:
    """The picture as SVG."""
    panels = "".join(_panel(number, name, lines) for number, (name, lines) in enumerate(curves.items()))
    width = WIDTH * len(curves)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12"><title>Share of the answers that reaches the model, by the tokens of '
        f'a request</title><rect width="{width}" height="{HEIGHT}" fill="#fff"/>{panels}</svg>\n'
    )


def _panel(number: int, name: str, lines: dict[str, list[tuple[float, float]]]) -> str:
    taken = [tokens for points in lines.values() for tokens, _ in points if tokens]
    first, last = floor(log2(min(taken))), ceil(log2(max(taken)))

    def x(tokens: float) -> float:
        return LEFT + (PANEL - LEFT) * ((log2(tokens) - first) / (last - first))

    def y(share: float) -> float:
        return TOP + (HEIGHT - TOP - 40) * (1 - (share - LOWEST) / (1 - LOWEST))

    parts = [f'<text x="{LEFT}" y="24" font-weight="bold">{escape(NAMES.get(name, name))}</text>']
    for tenth in range(2, 11, 2):
        at = y(tenth / 10)
        parts.append(f'<line x1="{LEFT}" x2="{PANEL}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e3e5e8"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#555">{tenth / 10:.1f}</text>')
    for power in range(first, last + 1):
        at = f'x="{x(2**power):.1f}" y="{HEIGHT - 22}"'
        parts.append(f'<text {at} text-anchor="middle" fill="#555">{2**power / 1024:.0f}k</text>')
    parts.append(
        f'<text x="{(LEFT + PANEL) / 2}" y="{HEIGHT - 6}" text-anchor="middle" fill="#555">tokens of a request</text>'
    )
    ends = _apart({line: y(max(points)[1]) for line, points in lines.items()})
    for line, points in lines.items():
        colour = COLOURS.get(line, "#333")
        if points[0][0]:
            places = [(x(tokens), y(share)) for tokens, share in sorted(points)]
            path = " ".join(f"{across:.1f},{down:.1f}" for across, down in places)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
            dots = (f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>' for across, down in places)
            parts.extend(dots)
        else:
            level = f'x1="{LEFT}" x2="{PANEL}" y1="{y(points[0][1]):.1f}" y2="{y(points[0][1]):.1f}"'
            parts.append(f'<line {level} stroke="{colour}" stroke-dasharray="5 4" stroke-width="2"/>')
        parts.append(f'<text x="{PANEL + 8}" y="{ends[line] + 4:.1f}" fill="{colour}">{escape(line)}</text>')
    return f'<g transform="translate({WIDTH * number})">{"".join(parts)}</g>'


def _apart(places: dict[str, float]) -> dict[str, float]:
    """The heights of the labels, at least a line of text from one another."""
    apart: dict[str, float] = {}
    lowest = 0.0
    for line, place in sorted(places.items(), key=lambda item: item[1]):
        apart[line] = lowest = max(place, lowest + 15)
    return apart
