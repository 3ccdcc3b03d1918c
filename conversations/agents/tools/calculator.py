"""Calculates arithmetic expressions for models, which often get them wrong."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Any

from simpleeval import FeatureNotAvailable, FunctionNotDefined, NameNotDefined, OperatorNotDefined, SimpleEval

from conversations.context.tools import MAX_EXPRESSION_CHARS
from conversations.llm.tools import ToolFailed

BITS = 6_000
"""The most bits of a number: about 1,800 digits, which are shown in full."""
DIGITS, EXACT_DIGITS = 15, 50
"""Digits shown of a value without an exact decimal notation, and the most of one with it."""


Number = int | Fraction | float
"""A value; integers and decimals stay exact, unless a function is applied or a fraction grows beyond BITS."""
AS_TYPED = str.maketrans("×÷−·", "*/-*")


def calculate(expression: str) -> str:
    """The value of an expression, as text. Raises ToolFailed. Takes milliseconds for every expression."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise ToolFailed(f"The expression has more than {MAX_EXPRESSION_CHARS:,} characters.")
    try:
        return _shown(_bounded(_Arithmetic().eval(_parsed(expression.translate(AS_TYPED)))))
    except ToolFailed:
        raise
    except ZeroDivisionError:
        raise ToolFailed("It divides by zero.") from None
    except OverflowError:
        raise ToolFailed("A value is too large.") from None
    except (NameNotDefined, FunctionNotDefined) as error:
        name = getattr(error, "name", None) or getattr(error, "func_name", "")
        known = ", ".join((*NAMES, *FUNCTIONS))
        raise ToolFailed(f"{str(name)[:40]!r} is not known here. Known are {known}.") from None
    except (OperatorNotDefined, FeatureNotAvailable):
        raise ToolFailed("Only arithmetic is known here: + - * / // % ** ( ) and functions.") from None
    except (RecursionError, MemoryError):
        raise ToolFailed("The expression is nested too deeply.") from None
    except SyntaxError:
        raise ToolFailed("The expression cannot be read.") from None
    except (ValueError, TypeError):
        raise ToolFailed("A function has no value there, or takes another number of arguments.") from None


class _Arithmetic(SimpleEval):
    """Evaluates numbers, OPERATORS, NAMES and FUNCTIONS only: no text, no attributes, no conditions."""

    def __init__(self) -> None:
        super().__init__(operators=OPERATORS, functions=FUNCTIONS, names=NAMES)
        self.nodes: dict[type[ast.AST], Callable[..., Any]] = {
            ast.Expr: self._eval_expr,
            ast.Name: self._eval_name,
            ast.UnaryOp: self._eval_unaryop,
            ast.BinOp: self._eval_binop,
            ast.Call: self._eval_call,
            ast.Constant: _literal,
        }

    def eval(self, expr: ast.Expr, previously_parsed: Any = None) -> Any:
        return self._eval(expr)


def _parsed(expression: str) -> ast.Expr:
    if "^" in expression:
        raise ToolFailed("^ is not known here: a power is written **.")
    body = ast.parse(expression.strip()).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ToolFailed("It must be one expression.")
    if isinstance(body[0].value, ast.Tuple):
        raise ToolFailed("It must be one expression, with numbers written without thousands separators.")
    return body[0]


def _literal(node: ast.Constant) -> Number:
    value = node.value
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _bounded(value)
    if isinstance(value, float):
        raise OverflowError
    raise FeatureNotAvailable


def _bounded(value: Any) -> Number:
    """The value within BITS; a longer fraction becomes a float. Raises OverflowError; ToolFailed if it is not real."""
    if isinstance(value, float) and not math.isfinite(value):
        raise OverflowError
    if isinstance(value, int | Fraction) and _bits(value) > BITS:
        if value.denominator == 1:
            raise OverflowError
        return float(value)
    if isinstance(value, complex) or not isinstance(value, int | Fraction | float):
        raise ToolFailed("It has no real number as its value.")
    return value


def _bits(value: int | Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _by(operation: Callable[..., Any]) -> Callable[..., Number]:
    return lambda *numbers: _bounded(operation(*numbers))


def _divided(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float):
        return _bounded(left / right)
    return _bounded(Fraction(left) / right)


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, float) or isinstance(exponent, float) or exponent.denominator != 1:
        return _bounded(float(base) ** float(exponent))
    most = 2 * BITS / (_bits(base) or 1)
    if base not in (0, 1, -1) and not -most <= exponent <= most:
        if base.denominator == 1 and exponent > 0:
            raise OverflowError
        return _bounded(float(base) ** float(exponent))
    return _bounded(Fraction(base) ** int(exponent))


def _root(value: Number) -> Number:
    if not isinstance(value, float) and value >= 0:
        over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if over * over == value.numerator and under * under == value.denominator:
            return Fraction(over, under)
    return math.sqrt(value)


def _rounded(value: Number, digits: Number = 0) -> Number:
    if not -BITS < digits < BITS or digits != int(digits):
        raise ValueError
    return _bounded(round(value, int(digits)) if digits else round(value))


def _factorial(value: Number) -> Number:
    if value > BITS // 8:
        raise OverflowError
    return _bounded(math.factorial(int(value) if value == int(value) else -1))


OPERATORS: dict[type[ast.AST], Callable[..., Number]] = {
    ast.Add: _by(operator.add),
    ast.Sub: _by(operator.sub),
    ast.Mult: _by(operator.mul),
    ast.Div: _divided,
    ast.FloorDiv: _by(operator.floordiv),
    ast.Mod: _by(operator.mod),
    ast.Pow: _power,
    ast.USub: _by(operator.neg),
    ast.UAdd: _by(operator.pos),
}
NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": _root,
    "round": _rounded,
    "factorial": _factorial,
    "min": _by(min),
    "max": _by(max),
    "abs": _by(abs),
    **{
        name: _by(getattr(math, name))
        for name in ("floor", "ceil", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan")
    },
}


def _shown(value: Number) -> str:
    """Write integers and short decimals exactly, every other value with DIGITS digits."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if value.denominator == 1:
        return str(value.numerator)
    with localcontext(prec=EXACT_DIGITS) as context:
        written = Decimal(value.numerator) / Decimal(value.denominator)
        if context.flags[Inexact]:
            context.prec = DIGITS
            written = +written
        written = written.normalize()
    return format(written, "f") if -10 < written.adjusted() < EXACT_DIGITS else str(written)
