"""Codes for the failures of replies and summaries, stored in the row when the error is raised."""

from __future__ import annotations

from enum import StrEnum


class ErrorCode(StrEnum):
    """Reason why a row failed; "" stands for any other reason."""

    NO_CREDIT = "no_credit"
    OVER_BUDGET = "insufficient_quota"
    RATE_LIMITED = "rate_limited"
    KEY_REFUSED = "key_refused"
    NO_KEY = "no_key"
    CONTEXT_TOO_LARGE = "context_too_large"
    MODEL_NOT_FOUND = "model_not_found"
    SILENCE = "silence"
    BROKEN_REPLY = "broken_reply"
    EMPTY_REPLY = "empty_reply"
    CUT_OFF = "cut_off"
    REFUSAL = "refusal"
    REQUEST_REFUSED = "request_refused"
    PROVIDER_FAULT = "provider_fault"
    UNREACHABLE = "unreachable"
    NO_HEADINGS = "no_headings"
    OTHER_LANGUAGE = "other_language"
    TOO_LONG = "too_long"
    FACTS_LOST = "facts_lost"
    WINDOW_TOO_SMALL = "window_too_small"
    RESTING = "resting_after_failures"
    ATTEMPTS_USED_UP = "attempts_used_up"
    NO_MODEL = "no_model"
    WORKER_STOPPED = "worker_stopped"
    FAULT_OF_THIS_SITE = "fault_of_this_site"
    DELETED = "deleted_meanwhile"
