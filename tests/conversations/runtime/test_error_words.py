"""Errors of models and summaries in the page's language."""

from __future__ import annotations

import re

import pytest
from django.utils.translation import override

from conversations.llm.providers.fault_mapping import Endpoint, error_of_status, explain
from conversations.runtime.end_reasons import failure
from conversations.runtime.error_words import CLAUSES, in_language

ASKED = Endpoint("gpt-5: mine", "gpt-5", "http://127.0.0.1:9000/v1", 60, "openai")
NO_CREDIT = {"error": {"code": "insufficient_quota", "message": "no"}}
TOO_LONG = {"error": {"code": "context_length_exceeded"}}
ERRORS = [
    *(error_of_status(status, {"error": {"code": "a_code"}}, ASKED) for status in (400, 401, 404, 409, 429, 500, 529)),
    *(error_of_status(status, {}, ASKED, wait=wait) for status in (429, 503, 529) for wait in (1, 120, 3_600)),
    error_of_status(400, TOO_LONG, ASKED),
    error_of_status(429, NO_CREDIT, ASKED),
    error_of_status(403, "<html>", ASKED),
    error_of_status(403, {"error": {"code": "no_access"}}, ASKED),
    error_of_status(403, {"error": {"code": "unsupported_country_region_territory"}}, ASKED),
    error_of_status(400, {"error": {"code": "content_filter"}}, ASKED),
    error_of_status(400, {"error": {"code": "tool_use_failed"}}, ASKED),
    *(explain(TimeoutError(), ASKED, begun=begun) for begun in (True, False)),
    explain(ValueError(), ASKED, begun=False),
]
OTHERS = [
    "gpt-5 sent an empty reply. Try again.",
    "gpt-5 does not end its reply.",
    "gpt-5 used all its tokens before it wrote anything, as reasoning models can. "
    "Raise the profile's maximum of reply tokens, or use another model.",
    "gpt-5: what the provider sent ended in the middle. Try again.",
    "gpt-5: the provider broke the reply off (server_error). Try again.",
    "gpt-5: 127.0.0.1:9000 cannot be reached: nothing listens there. Check that the server runs, and the base URL.",
    "The reply was interrupted.",
    "the summary repeats itself over and over",
    "the summary is in another language than the conversation (Deutsch)",
]


@pytest.mark.parametrize("error", [*map(str, ERRORS), *OTHERS])
def test_an_error_of_a_model_is_in_the_page_s_language(error: str) -> None:
    with override("en"):
        assert in_language(error) == error
    for language in ("de", "es", "fr", "zh-hans"):
        with override(language):
            for part in filter(None, failure(error)):
                translated = in_language(part)
                assert translated != part
                assert not re.search(r"\b(?:the|provider|reply|Check)\b", translated), translated


def test_names_and_figures_are_kept() -> None:
    with override("de"):
        error = str(error_of_status(404, {}, ASKED))
        assert in_language(error) == (
            "gpt-5: mine: 127.0.0.1:9000 kennt das Modell „gpt-5“ nicht (404). Prüfe die Modell-ID und die Basis-URL."
        )
        waiting = failure(str(error_of_status(503, {}, ASKED, wait=120))).fact
        assert in_language(waiting).endswith("(503); er bittet, 2 Minuten zu warten.")


@pytest.mark.parametrize(
    "error", ["", "Something else happened.", "gpt-5: the provider refused it. Somehow.", "a: b: c."]
)
def test_an_unknown_error_stays_as_it_is(error: str) -> None:
    with override("de"):
        assert in_language(error) == error


def test_each_clause_matches_itself_and_no_earlier_one() -> None:
    with override("de"):
        for clause in CLAUSES:
            example = re.sub(r"%\((\w+)\)s", "17", clause)
            assert in_language(example) != example
