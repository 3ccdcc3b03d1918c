"""Optional fields, forms of messages and images that a provider refuses: the caller's request is repeated without."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conversations.gateway.server_form import ServerForm
from conversations.llm.providers import corrections
from conversations.llm.providers.complaints import own_words
from conversations.llm.providers.tool_naming import fitting_name, offered_name
from tests.gateway.caller import Caller

HI = {"role": "user", "content": "Hi."}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
TUNED = {
    "temperature": 0.2, "top_p": 0.9, "top_k": 4, "seed": 1, "presence_penalty": 0.1, "user": "u", "verbosity": "low",
    "parallel_tool_calls": True, "reasoning_effort": "xhigh", "prompt_cache_key": "k", "stream_options": {},
    "thinking": {"type": "enabled"}, "max_tokens": 50, "tools": [TOOL], "stop": ["x"], "response_format": {"type": "x"},
    "store": False, "metadata": {"a": "b"}, "service_tier": "auto", "prompt_cache_retention": "24h", "logprobs": False,
    "n": 1, "context_management": {"edits": []}, "output_config": {"effort": "high"},
}  # fmt: skip
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PIXEL}}]}


@pytest.mark.parametrize(
    ("complaint", "changed"),
    [
        ("Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", {"parallel_tool_calls"}),
        ('Unknown name "parallel_tool_calls": Cannot find field.', {"parallel_tool_calls"}),
        (
            "'temperature' does not support 0.2 with this model. Only the default (1) value is supported",
            {"temperature"},
        ),
        ("`temperature` is deprecated for this model.", {"temperature"}),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", {"top_p"}),
        ("Unrecognized request argument supplied: verbosity", {"verbosity"}),
        ("Model grok-4 does not support parameter presencePenalty.", {"presence_penalty"}),
        ("property 'user' is unsupported", {"user"}),
        ("seed: Extra inputs are not permitted", {"seed"}),
        (
            "[{'type': 'extra_forbidden', 'loc': ['body', 'prompt_cache_key'], 'msg': 'Extra inputs'}]",
            {"prompt_cache_key"},
        ),
        ("`reasoning_effort` is not supported with this model", {"reasoning_effort"}),
        ("top_k: Extra inputs are not permitted", {"top_k"}),
        ('Invalid JSON payload received. Unknown name "store": Cannot find field.', {"store"}),  # Gemini
        ("body.store: property 'body.store' is unsupported", {"store"}),  # Cerebras
        ("Unrecognized request argument supplied: store", {"store"}),
        ("Unrecognized request arguments supplied: store, metadata", {"store", "metadata"}),
        ("The 'metadata' parameter is only allowed when 'store' is enabled.", {"store", "metadata"}),
        ("property 'service_tier' is unsupported", {"service_tier"}),  # Groq
        ("Invalid service_tier argument", {"service_tier"}),
        ("Unknown parameter: 'prompt_cache_retention'.", {"prompt_cache_retention"}),
        ("Unrecognized request argument supplied: thinking", {"thinking"}),
        ("property 'logprobs' is unsupported", {"logprobs"}),
        ("property 'n' is unsupported", {"n"}),
        ("Seed is not supported", {"seed"}),
        ('Unknown name "seed": Cannot find field.', {"seed"}),
        ("invalid temperature: only 1 is allowed for this model", {"temperature"}),  # Moonshot
        ("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.", {"temperature"}),
        ("Penalty is not enabled for this model", {"presence_penalty"}),  # Gemini
        ("`reasoning_effort` must be one of `none` or `default`", {"reasoning_effort"}),  # Groq
        ("Invalid reasoning effort: xhigh", {"reasoning_effort"}),
        ("context_management: Extra inputs are not permitted", {"context_management"}),
        ("output_config: Extra inputs are not permitted", {"output_config"}),
        ("This model does not support the effort parameter.", {"output_config"}),
    ],
)
def test_a_field_that_tunes_an_answer_is_left_out(complaint: str, changed: set[str]) -> None:
    body = TUNED | {"messages": [HI]}
    form = ServerForm().after(complaint, body, status=400)
    assert form is not None
    assert set(form.changed(body)) == body.keys() - form.applied(body).keys() == changed


@pytest.mark.parametrize(
    "complaint",
    [
        "Model grok-4 does not support parameter stop.",
        "This response_format type is unavailable now",
        "registry.ollama.ai/library/gemma3 does not support tools",
        "Unsupported value in messages: the user said 'stop' and the conversation must end with a user message",
        "The seed of this problem is not supported",
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 5 instead.",
        "temperature must be non-negative, got -1; other values are not supported",
        "Invalid value: 'banana'. Supported values are: 'low' and 'high'. (reasoning_effort)",
        "Incorrect API key provided",
        "messages.1.content.0.store: property 'store' is unsupported",
        "Unknown tool 'write' in tool_choice",
    ],
)
def test_a_refusal_of_anything_else_reaches_the_caller(complaint: str) -> None:
    forced = TUNED | {"messages": [HI], "tool_choice": {"type": "function", "function": {"name": "write"}}}
    assert ServerForm().after(complaint, forced, status=400) is None
    assert ServerForm().after("`temperature` is not supported", TUNED | {"messages": [HI]}, status=401) is None


@pytest.mark.parametrize(("effort", "meant"), [("xhigh", "high"), ("minimal", "low")])
def test_an_effort_that_a_model_does_not_know_becomes_the_nearest(effort: str, meant: str) -> None:
    body = {"messages": [HI], "reasoning_effort": effort}
    words = f"Unsupported value: '{effort}' is not supported. Supported values are: 'low', 'medium', and 'high'."
    form = ServerForm().after(str({"message": words, "param": "reasoning_effort"}), body, status=400)
    assert form is not None and form.applied(body)["reasoning_effort"] == meant
    assert form.applied({"reasoning_effort": "medium"}) == {"reasoning_effort": "medium"}


def test_a_limit_is_sent_by_the_name_and_up_to_the_size_that_a_server_knows() -> None:
    renamed = ServerForm().after(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        {"messages": [HI], "max_tokens": 50},
        status=400,
    )
    assert renamed is not None
    assert renamed.applied({"max_tokens": 50}) == {"max_completion_tokens": 50}
    assert renamed.after("'max_completion_tokens' is not supported", {"max_completion_tokens": 50}, status=400) is None


@pytest.mark.parametrize(
    "words",
    [
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",  # DeepSeek
        "Range of max_tokens should be [1, 8192]",  # Alibaba
        "The parameter `max_tokens` is not valid: integer above maximum value, expected a value <= 8192, but got 32000",
        "it has a maxOutputTokens value of 32000 but the supported range is from 1 (inclusive) to 8192 (exclusive).",
        "The maximum tokens you requested exceeds the model limit of 8192. Try again with a lower value.",  # Amazon
        "Invalid 'max_tokens': integer above maximum value. Expected a value <= 8192, but got 32000.",  # OpenAI
        "max_tokens (32000) exceeds model's maximum output tokens (8192)",
        "invalid request: max_tokens must be less than or equal to 8192, the maximum output length for this model",
        "Parameter max_tokens is out of range: 32000, the maximum is 8192",
        "max_tokens too large: maximum allowed 8192",
        "requested max_tokens 32000 greater than limit 8192",
        "max_tokens cannot exceed 8192",
        "max_tokens should be at most 8192",
        "max_tokens limit is 8192",
        "max_tokens 参数非法，取值范围为 [1, 8192]",  # Zhipu
        "max_output_tokens must be in the range [1, 8193)",
        "Output token limit is 8192 for this model",
        "num_predict must be smaller than 8193",
        "max_tokens\n  Input should be less than or equal to 8192 [type=less_than_equal, input_value=9]",  # Pydantic
        '[{"loc":["body","max_tokens"],"msg":"ensure this value is less than or equal to 8192"}]',  # Pydantic 1
        '[{"code":"too_big","maximum":8192,"path":["max_tokens"],"message":"less than or equal to 8192"}]',  # Zod
        '[{"maximum":8192,"path":["max_tokens"],"message":"Too big: expected number to be <=8192"}]',  # Zod 4
        '[{"instancePath":"/max_tokens","params":{"comparison":"<=","limit":8192},"message":"must be <= 8192"}]',  # AJV
        "32000 is greater than the maximum of 8192 - 'max_tokens'",  # jsonschema
        '{"max_tokens": ["Must be greater than or equal to 1 and less than or equal to 8192."]}',  # marshmallow
        "Expected `int` <= 8192 - at `$.max_tokens`",  # msgspec
        '["max_tokens must not be greater than 8192"]',  # class-validator
        "The field max_tokens must be between 1 and 8192.",  # ASP.NET
        "maxTokens: must be less than or equal to 8192",  # Jakarta
        '[{"loc":["temperature"],"msg":"less than or equal to 2"},{"loc":["max_tokens"],"msg":"at most 8192"}]',
    ],
)
def test_a_limit_is_at_most_the_one_that_a_server_names(words: str) -> None:
    smaller = ServerForm().after(words, {"max_tokens": 32_000}, status=400)
    assert smaller is not None
    most = 8_191 if "(exclusive)" in words else 8_192
    assert smaller.applied({"max_tokens": 32_000}) == {"max_tokens": most}


@pytest.mark.parametrize(
    ("given", "limit", "complaint", "meant"),
    [
        ({"type": "enabled", "budget_tokens": 2_000}, 4_000,
         '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
         {"type": "adaptive"}),
        ({"type": "adaptive"}, 4_000, "adaptive thinking is not supported on this model",
         {"type": "enabled", "budget_tokens": 3_999}),
        ({"type": "adaptive"}, 500, "adaptive thinking is not supported on this model", {"type": "disabled"}),
    ],
)  # fmt: skip
def test_thinking_has_the_type_that_a_model_of_anthropic_s_takes(
    given: dict[str, Any], limit: int, complaint: str, meant: dict[str, Any]
) -> None:
    body = {"messages": [HI], "max_tokens": limit, "thinking": given}
    form = ServerForm().after(complaint, body, status=400)
    assert form is not None
    assert form.applied(body) == body | {"thinking": meant}


def test_options_about_tools_do_not_go_without_tools(caller: Caller) -> None:
    """OpenAI refuses them, and an empty list of tools; some clients always send them."""
    for tools in ({}, {"tools": None}, {"tools": []}):
        answer = caller.ask([HI], extra_body={"tool_choice": "auto", "parallel_tool_calls": True} | tools)
        assert answer.status_code == 200
        sent = caller.served.llm.last_request.body
        assert not sent.keys() & {"tools", "tool_choice", "parallel_tool_calls"}
    caller.ask([HI], tools=[TOOL], tool_choice="auto", parallel_tool_calls=False)
    assert caller.served.llm.last_request.body.keys() >= {"tools", "tool_choice", "parallel_tool_calls"}


def test_a_forced_call_is_asked_for_where_a_model_that_thinks_refuses_to_be_forced() -> None:
    body = {"messages": [HI], "tools": [TOOL], "tool_choice": "required"}
    form = ServerForm().after("Thinking may not be enabled when tool_choice forces tool use.", body, status=400)
    assert form is not None and form.applied(body)["tool_choice"] == "auto" and form.changed(body) == ["tool_choice"]


CALL = {"id": "c1", "type": "function", "function": {"name": "mcp.read", "arguments": "{}"}}
KNOWN = {"role": "assistant", "content": "", "reasoning": "so", "tool_calls": [CALL]}
ECHOED = KNOWN | {
    "refusal": None, "annotations": [], "audio": None, "function_call": None, "tool_calls": [CALL | {"index": 0}],
}  # fmt: skip
"""The message of an answer, as clients send it back."""
FORMS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("tools[0].function.strict: Extra inputs are not permitted",
     {"tools": [{"type": "function", "function": {"name": "a", "strict": True}}]},
     {"tools": [{"type": "function", "function": {"name": "a"}}]}),
    ("messages[0].content[0].cache_control: Extra inputs are not permitted",
     {"messages": [{"role": "user", "content": [
         {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]}]},
     {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}]}),
    ("messages.0.name: Extra inputs are not permitted",
     {"messages": [HI | {"name": "Bob"}]}, {"messages": [{"role": "user", "content": "Bob: Hi."}]}),
    ("developer is not one of ['system', 'assistant', 'user', 'tool'] - 'messages.0.role'",
     {"messages": [{"role": "developer", "content": "x"}]}, {"messages": [{"role": "system", "content": "x"}]}),
    ("messages[0].content: Input should be a valid string",
     {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]},
     {"messages": [{"role": "user", "content": "a\n\nb"}]}),
    ("Invalid value for 'content': expected a string, got null.",
     {"messages": [{"role": "assistant", "content": None}]}, {"messages": [{"role": "assistant", "content": ""}]}),
    ("Invalid 'tools[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.",
     {"messages": [{"role": "assistant", "tool_calls": [CALL]}], "tools": [{"function": {"name": "mcp.read"}}],
      "tool_choice": {"type": "function", "function": {"name": "mcp.read"}}},
     {"messages": [{"role": "assistant", "tool_calls": [
         CALL | {"function": {"name": fitting_name("mcp.read"), "arguments": "{}"}}]}],
      "tools": [{"function": {"name": fitting_name("mcp.read")}}],
      "tool_choice": {"type": "function", "function": {"name": fitting_name("mcp.read")}}}),
    ("system.0.cache_control.ephemeral.scope: Extra inputs are not permitted",
     {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "scope": "global"}}]},
     {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]}),
    ("tools.0.custom.defer_loading: Extra inputs are not permitted",
     {"tools": [{"name": "a", "input_schema": {}, "defer_loading": True}, {"type": "web_search_20250305", "x": 1}]},
     {"tools": [{"name": "a", "input_schema": {}}, {"type": "web_search_20250305", "x": 1}]}),
    ("messages.1.content.1.tool_use.caller: Extra inputs are not permitted",
     {"messages": [{"role": "assistant", "content": [
         {"type": "tool_use", "id": "c1", "name": "a", "input": {}, "caller": {"type": "direct"}}]}]},
     {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": {}}]}]}),
    *((complaint, {"messages": [HI, ECHOED]}, {"messages": [HI, KNOWN]}) for complaint in (
        "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'annotations' is "
        "unsupported)]",  # Groq
        '{"type":"extra_forbidden","loc":["body","messages",1,"assistant","refusal"],"msg":"Extra inputs"}',  # Mistral
        "Invalid type for 'messages[1].function_call': expected an object, but got null instead.",  # OpenAI
        "Unknown parameter: 'messages[1].tool_calls[0].index'.",
    )),
    ("[] is too short - 'messages.1.tool_calls'",
     {"messages": [HI, {"role": "assistant", "content": "x", "tool_calls": []}]},
     {"messages": [HI, {"role": "assistant", "content": "x"}]}),
    ('{"type":"string_type","loc":["body","messages",1,"content"],"msg":"Input should be a valid string","input":null}',
     {"messages": [HI, {"role": "assistant", "content": None}]},
     {"messages": [HI, {"role": "assistant", "content": ""}]}),
    *((complaint, {"messages": [{"role": "developer", "content": "x"}]},
       {"messages": [{"role": "system", "content": "x"}]}) for complaint in (
          "Input should be 'system', 'user', 'assistant' or 'tool'",
          "'messages.0.role' : value must be one of 'system','user','assistant','tool'",
          "Please use a valid role: user, model.",
      )),
    *((complaint, {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]},
       {"messages": [{"role": "user", "content": "a"}]}) for complaint in (
          "messages[0]: invalid type: sequence, expected a string at line 1 column 90",  # DeepSeek
          "json: cannot unmarshal array into Go struct field ChatCompletionMessage.messages.content of type string",
      )),
    ("Tools with mixed values for 'strict' are not allowed.",
     {"tools": [{"type": "function", "function": {"name": "a", "strict": True}}]},
     {"tools": [{"type": "function", "function": {"name": "a"}}]}),
    ("This model does not support assistant message prefill.",
     {"messages": [HI, {"role": "assistant", "content": "Sure"}]},
     {"messages": [HI, {"role": "assistant", "content": "Sure"}, {"role": "user", "content": "[Go on.]"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("complaint", "body", "meant"), FORMS)
def test_messages_and_tools_take_the_form_that_a_server_asks_for(
    complaint: str, body: dict[str, Any], meant: dict[str, Any]
) -> None:
    body = {"messages": [HI]} | body
    assert ServerForm().after(complaint, body, status=400) is None
    name = corrections.named_in(complaint, body, status=400)
    assert name is not None
    assert corrections.named_in(own_words(complaint, body), body, status=400) == name, "it is remembered"
    sent = corrections.corrected(body, frozenset({name}))
    assert sent == {"messages": [HI]} | meant
    assert corrections.named_in(complaint, sent, status=400) is None, "once"


def test_a_shortened_name_means_the_offered_tool() -> None:
    names = ["mcp.read", "mcp.write", "x" * 80]
    assert [offered_name(fitting_name(name), names) for name in names] == names


def refuse(caller: Caller, complaint: str, **more: Any) -> None:
    caller.served.llm.enqueue(status=400, message=complaint, **more)


def test_a_refused_option_is_left_out_named_and_remembered(caller: Caller) -> None:
    complaint = "Unsupported parameter: 'verbosity' is not supported with this model."
    refuse(caller, complaint)
    for _ in range(2):
        answer = caller.ask([HI], extra_body={"verbosity": "low", "temperature": 0.5})
        assert answer.headers["x-chatsite-left-out"] == "verbosity"
        assert answer.parse().choices[0].message.content == "All right."
    sent = [request.body for request in caller.served.llm.chats]
    assert ["verbosity" in body for body in sent] == [True, False, False]
    assert all(body["temperature"] == 0.5 for body in sent)


def test_a_message_that_a_client_sends_back_as_it_came_is_sent_with_known_fields(caller: Caller) -> None:
    refuse(caller, "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
                   "'annotations' is unsupported)]")  # fmt: skip
    said = {"role": "assistant", "content": "Hello.", "refusal": None, "annotations": [], "tool_calls": []}
    for _ in range(2):
        assert caller.ask([HI, said, HI]).parse().choices[0].message.content == "All right."
    assert ["annotations" in request.body["messages"][1] for request in caller.served.llm.chats] == [True, False, False]


def test_parallel_calls_go_one_by_one_to_a_template_that_takes_single_ones(caller: Caller) -> None:
    calls = [{"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}} for id in ("c1", "c2")]
    results = [{"role": "tool", "tool_call_id": id, "content": id} for id in ("c1", "c2")]
    refuse(caller, "This model only supports single tool-calls at once!")
    for _ in range(2):
        history = [HI, {"role": "assistant", "content": "", "tool_calls": calls}, *results]
        assert caller.ask(history, tools=[TOOL]).parse().choices[0].message.content == "All right."
    sent = [[one.get("role") for one in request.body["messages"]] for request in caller.served.llm.chats]
    assert sent == [["user", "assistant", "tool", "tool"], *[["user", "assistant", "tool", "assistant", "tool"]] * 2]


def test_a_person_s_own_words_teach_the_site_nothing(caller: Caller) -> None:
    complaint = "Unsupported parameter: 'top_k' is not supported with this model."
    for _ in range(2):
        refuse(caller, complaint)
        answer = caller.ask([{"role": "user", "content": complaint}], extra_body={"top_k": 4})
        assert answer.headers["x-chatsite-left-out"] == "top_k"
    assert [("top_k" in one.body) for one in caller.served.llm.chats] == [True, False] * 2


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (400, "unknown variant `image_url`, expected `text`"),
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (404, "No endpoints found that support image input"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "scripted is not a multimodal model"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (400, "model scripted only supports text input"),
        (400, "type image_url 不支持"),
    ],
)
def test_a_model_without_eyes_gets_a_line_in_place_of_an_image(caller: Caller, status: int, complaint: str) -> None:
    """Otherwise every later request of the session would fail too."""
    caller.served.llm.enqueue(status=status, message=complaint)
    said = [*IMAGE["content"], {"type": "text", "text": complaint}]  # its own words: nothing is remembered
    answer = caller.ask([IMAGE | {"content": said}])
    assert answer.status_code == 200
    (part, _) = caller.sent[-1]["content"]
    assert part["type"] == "text" and "image/png" in part["text"] and "takes no images" in part["text"]


@pytest.mark.parametrize(
    "complaint",
    [
        "Image format image/tiff is not supported. Use PNG, JPEG, GIF or WebP.",
        "Unsupported image: could not decode it",
        "The image dimensions are not supported",
        "Images with a size of more than 5 MB are not supported",
    ],
)
def test_an_error_about_one_image_says_nothing_about_others(complaint: str) -> None:
    assert ServerForm().after(complaint, {"messages": [IMAGE]}, status=400) is None


def test_a_call_by_a_shortened_name_comes_back_by_the_caller_s_own(caller: Caller) -> None:
    name = "mcp.read"
    words = "Invalid 'tools[0].function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'."
    refuse(caller, words)
    caller.served.llm.enqueue("", calls=[(fitting_name(name), "{}")])
    tools: Any = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}]
    said = [{"role": "user", "content": words}]
    (choice,) = caller.ask(said, tools=tools).parse().choices
    assert choice.message.tool_calls[0].function.name == name
    assert json.dumps(caller.served.llm.chats[-1].body["tools"]).count(fitting_name(name)) == 1
