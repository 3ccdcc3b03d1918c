"""What an expression of Prometheus' language asks for, as far as a dashboard needs it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[A-Za-z_:$][\w:]*|=~|!~|!=|==|>=|<=|\d[\d.]*\w*|\S')
NAME = re.compile(r"[A-Za-z_:][\w:]*")
GROUPING = ("by", "without", "on", "ignoring", "group_left", "group_right")
WORDS = (*GROUPING, "and", "or", "unless", "offset", "bool")


@dataclass
class Asked:
    """Names of series, each with the labels that are asked of it; `grouped` are those of the whole expression."""

    series: dict[str, set[str]] = field(default_factory=dict)
    grouped: set[str] = field(default_factory=set)


def asked_by(expression: str) -> Asked:
    asked, tokens = Asked(), [*TOKEN.findall(expression), ""]
    inside, current = "", ""
    for token, following in pairwise(tokens):
        if token in GROUPING:
            inside = "group"
        elif token == "{":
            inside = "series"
        elif token in ("}", ")"):
            inside = ""
        elif not NAME.fullmatch(token) or token in WORDS:
            continue
        elif inside == "group":
            asked.grouped.add(token)
        elif inside == "series":
            asked.series[current].add(token)
        elif following not in ("(", "by", "without"):  # else it is a function
            current = token
            asked.series.setdefault(token, set())
    return asked
