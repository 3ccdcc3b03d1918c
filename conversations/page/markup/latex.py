"""Rewrites LaTeX that the converter to MathML does not know into LaTeX that it knows.

Rewritten are environments of AMS and their numbers, common short names of sets, and chemistry of mhchem (`\\ce`).
"""

from __future__ import annotations

import re

_ENVIRONMENTS = {
    **dict.fromkeys(("aligned", "align", "alignat", "alignat*", "alignedat", "split", "eqnarray"), "align*"),
    **dict.fromkeys(("gathered", "gather", "gather*", "multline", "multline*"), "matrix"),
    "dcases": "cases",
    "equation": "equation*",
}
_ENDS = re.compile(r"\\(begin|end)\{(" + "|".join(map(re.escape, _ENVIRONMENTS)) + r")\}(?:\{\d{1,2}\})?")
_SETS = re.compile(r"\\([RNZQC])(?![A-Za-z])")
_LABELS = re.compile(r"\\(?:label|nonumber|notag)(?:\{[^{}]*\})?(?![A-Za-z])")
_CHEMISTRY = re.compile(r"\\ce\{((?:[^{}]|\{[^{}]*\})*)\}")
_ARROWS = {
    "<=>": r"\rightleftharpoons ",
    "<->": r"\leftrightarrow ",
    "->": r"\rightarrow ",
    "<-": r"\leftarrow ",
}
_ARROW = re.compile("|".join(map(re.escape, _ARROWS)))
_COUNT = re.compile(r"(?<=[A-Za-z)\]])(\d+)")
_RAISED = re.compile(r"\^(?:\{([^{}]*)\}|(\d*[+-]|\d+))")
_CHARGE = re.compile(r"(?<=[A-Za-z)\]}])([+-])(?=$|[\s)\]])")


def rewritten(latex: str) -> str:
    """The formula in LaTeX that the converter knows; its meaning stays, except for the numbers of equations."""
    latex = _ENDS.sub(lambda found: rf"\{found[1]}{{{_ENVIRONMENTS[found[2]]}}}", latex)
    latex = _LABELS.sub("", _SETS.sub(r"\\mathbb{\1}", latex))
    return _CHEMISTRY.sub(lambda found: rf"\mathrm{{{_chemical(found[1])}}}", latex)


def _chemical(formula: str) -> str:
    """A formula or an equation of mhchem: counts below, charges above, arrows."""
    formula = _RAISED.sub(lambda found: f"^{{{found[1] or found[2]}}}", formula)
    formula = _CHARGE.sub(r"^{\1}", _COUNT.sub(r"_{\1}", _ARROW.sub(lambda found: _ARROWS[found[0]], formula)))
    return formula.replace(" + ", r"\;+\;")
