"""The reason of a refusal, in the words and with the statuses of real providers: the advice depends on it."""

from __future__ import annotations

from typing import Any

import pytest

from conversations.llm import errors
from conversations.llm.providers.fault_mapping import Endpoint, error_of_status, words_of
from conversations.llm.providers.refusal_reasons import MAX_CHARS

pytestmark = pytest.mark.once

ASKED = Endpoint("Writer", "writer-1", "https://host/v1", 60.0, "openai")
Refusal = tuple[str, int, Any]


def said(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message} | fields}


KEY: list[Refusal] = [
    ("Gemini", 400, [said("API key not valid. Please pass a valid one.", code=400, status="INVALID_ARGUMENT")]),
    ("Gemini, expired", 400, [said("API key expired. Please renew it.", code=400, status="INVALID_ARGUMENT")]),
    ("Gemini, missing", 400, [said("Missing or invalid Authorization header.", code=400, status="INVALID_ARGUMENT")]),
    ("xAI", 400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***yz."}),
    ("LiteLLM without a database", 400, said("No connected db.", type="no_db_connection", code="400")),
    ("Cloudflare", 400, {"success": False, "errors": [{"code": 10000, "message": "Authentication error"}]}),
]
NO_CREDIT: list[Refusal] = [
    ("DeepSeek", 402, said("Insufficient Balance", type="unknown_error", code="invalid_request_error")),
    ("OpenRouter", 402, said("This request requires more credits, or fewer max_tokens.", code=402)),
    ("Zhipu", 429, said("余额不足或无可用资源包,请充值。", code="1113")),
    ("Moonshot", 429, said("Your account org-x is suspended", type="exceeded_current_quota_error")),
    ("SiliconFlow", 403, {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None}),
    ("DashScope, free tier", 403, said("The free tier of the model has been exhausted.", code="AllocationQuota")),
    ("DashScope", 400, said("Access denied, please make sure your account is in good standing.", code="Arrearage")),
    ("xAI, new", 403, {"code": "The caller does not have permission to execute the specified operation",
                       "error": "Your newly created team doesn't have any credits yet."}),
    ("xAI", 429, {"code": "Some resource has been exhausted", "error": "Your team has used all available credits"}),
    ("Hugging Face", 402, {"error": "You have exceeded your monthly included credits for Inference Providers."}),
    ("Together", 402, said("Credit limit exceeded, please navigate to the settings", type="credit_limit")),
    ("Anthropic", 400, said("Your credit balance is too low.", type="invalid_request_error")),
    ("Anthropic, own limit", 400, said("You have reached your specified API usage limits.")),
    ("new-api", 403, said("用户额度不足, 剩余额度: $0.000000", type="new_api_error", code="insufficient_user_quota")),
    ("LiteLLM", 400, said("Budget has been exceeded! Current cost: 1.2", type="budget_exceeded", code="400")),
    ("Volcengine", 403, said("The request failed because your account has an overdue balance.", type="Forbidden")),
]  # fmt: skip
RIGHTS: list[Refusal] = [
    ("OpenAI", 403, said("Project `proj_x` does not have access to model `gpt-5`", code="model_not_found")),
    ("Groq", 403, said("The model `x` is blocked at the project level.", code="model_permission_blocked_project")),
    ("Hugging Face", 403, {"error": "This authentication method does not have sufficient permissions to call it"}),
    ("GitHub Models", 403, said("No access to model: openai/gpt-5", code="no_access")),
    (
        "LiteLLM",
        401,
        said("team not allowed to access model.", type="team_model_access_denied", code="401"),
    ),
    ("Mistral", 403, {"message": "This model is not available in your current plan", "request_id": "x"}),
]
MODEL: list[Refusal] = [
    ("Mistral", 400, {"message": "Invalid model: writer-1", "type": "invalid_model", "code": "1500"}),
    ("DeepSeek", 400, said("Model Not Exist", type="invalid_request_error", code="invalid_request_error")),
    ("Zhipu", 400, said("模型不存在，请检查模型代码。", code="1211")),
    ("SiliconFlow", 400, {"code": 20012, "message": "Model does not exist. Please check it carefully.", "data": None}),
    ("OpenRouter", 400, said("writer-1 is not a valid model ID", code=400)),
    ("LiteLLM", 400, said("Invalid model name passed in model=writer-1. Call `/v1/models` to view models", code="400")),
    ("Cloudflare", 400, {"success": False, "errors": [{"code": 5007, "message": "No such model @cf/writer-1"}]}),
    ("OpenAI", 400, said("The requested model 'writer-1' does not exist.", code="model_not_found")),
]
COUNTRY: list[Refusal] = [
    ("OpenAI", 403, said("Country, region, or territory not supported", code="unsupported_country_region_territory")),
    ("Gemini", 400, [said("User location is not supported.", code=400, status="FAILED_PRECONDITION")]),
]
CONTENT: list[Refusal] = [
    ("OpenRouter", 403, said('It requires moderation on OpenAI. Your input was flagged for "violence".', code=403)),
    ("Azure", 400, said("The prompt triggered Azure OpenAI's content management policy.", code="content_filter")),
    ("DashScope", 400, said("Input data may contain inappropriate content.", code="data_inspection_failed")),
    ("Zhipu", 400, said("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301")),
    ("xAI", 403, {"code": "The caller does not have permission to execute the specified operation",
                  "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}),
    ("Moonshot", 400, said("The request was rejected because it was considered high risk", type="content_filter")),
    ("DeepSeek", 400, said("Content Exists Risk", type="invalid_request_error", code="invalid_request_error")),
]  # fmt: skip
REASONS = [
    (KEY, errors.KeyRefused, "key_refused", "refused the API key"),
    (NO_CREDIT, errors.NoCredit, "no_credit", "no credit left"),
    (RIGHTS, errors.ModelNotFound, "model_not_found", "may not use the model"),
    (MODEL, errors.ModelNotFound, "model_not_found", "does not know the model"),
    (COUNTRY, errors.Unavailable, "provider_fault", "does not serve this server's country"),
    (CONTENT, errors.RequestRefused, "refusal", "content filter refused the request"),
]
CASES = [
    pytest.param(status, body, kind, code, words, id=f"{words}, {name}")
    for refusals, kind, code, words in REASONS
    for name, status, body in refusals
]


@pytest.mark.parametrize(("status", "body", "kind", "code", "words"), CASES)
def test_a_refusal_has_its_reason_and_is_not_sent_again(
    status: int, body: Any, kind: type[errors.ModelError], code: str, words: str
) -> None:
    error = error_of_status(status, body, ASKED)
    assert (type(error), error.code, error.retryable) == (kind, code, False)
    assert words in error.reason


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, said("You exceeded your current quota, please check your plan and billing details."), "RateLimited"),
        (
            429,
            said("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000."),
            "RateLimited",
        ),
        (400, said("Invalid value for 'tool_choice'."), "RequestRefused"),
        (400, said("Unsupported parameter: 'content_filters_off'"), "RequestRefused"),
        (400, said("The model does not support tools."), "RequestRefused"),
        (400, said("Invalid model output: try again."), "RequestRefused"),
        (401, said("Incorrect API key provided."), "KeyRefused"),
        (403, said("Request not allowed"), "KeyRefused"),
        (404, said("The model `x` does not exist or you do not have access to it."), "ModelNotFound"),
        (500, said("content_filter: Incorrect API key provided."), "Unavailable"),
    ],
)
def test_other_refusals_are_as_they_were(status: int, body: Any, kind: str) -> None:
    assert type(error_of_status(status, body, ASKED)).__name__ == kind


def test_what_an_error_quotes_of_the_request_is_no_reason() -> None:
    quoted = "It is: " + "word " * (MAX_CHARS // 5) + "Incorrect API key provided: insufficient balance, content_filter"
    for body in (said(quoted), said("No.", param=quoted)):
        assert error_of_status(400, body, ASKED).code == "request_refused"


@pytest.mark.parametrize("page", ["<html><title>403 Forbidden</title></html>", "\n<!DOCTYPE html><title>Just a moment"])
def test_a_web_page_says_nothing_of_the_key(page: str) -> None:
    error = error_of_status(403, page, ASKED)
    assert type(error) is errors.Unavailable and not error.retryable
    assert "host refused access with a web page (403). Check the base URL." in error.reason


@pytest.mark.parametrize("raw", ['{"error": {"message": "Content Exists Risk"}}', "Content Exists Risk"])
def test_the_words_of_the_provider_behind_another_are_read(raw: str) -> None:
    """OpenRouter's own words are "Provider returned error"."""
    body = said("Provider returned error", code=400, metadata={"raw": raw, "provider_name": "DeepSeek"})
    assert words_of(body) == "Provider returned error: Content Exists Risk"
    assert error_of_status(400, body, ASKED).code == "refusal"
