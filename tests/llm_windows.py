"""What servers of one's own say about a model's window, in the shapes of their public documentation.

Ollama: docs/api.md (`/api/show`, `/api/ps`). llama.cpp: tools/server/README.md (`GET /props`). vLLM: `ModelCard` of
`/v1/models`. SGLang: the same. LM Studio: REST API v0. LiteLLM: proxy, `GET /model/info`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tests.llm_answers import Answer, Request, count_tokens, text_of

MARK = re.compile(r"Begin every reply with the mark (\[\[\w+\]\])\.")


def ollama(model: str, *, most: int = 262_144, loaded: int | None = None, num_ctx: int | None = None) -> dict[str, Any]:
    """`most` is the model's own limit; `loaded` the window that it is loaded with; `num_ctx` that of its Modelfile."""
    parameters = 'stop                           "<|im_end|>"\ntemperature                    0.6'
    if num_ctx:
        parameters += f"\nnum_ctx                        {num_ctx}"
    shown = {
        "license": "Apache License",
        "modelfile": f"FROM {model}",
        "parameters": parameters,
        "template": "{{ .Prompt }}",
        "details": {"format": "gguf", "family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
        "model_info": {"general.architecture": "qwen3", "qwen3.block_count": 36, "qwen3.context_length": most},
        "capabilities": ["completion", "tools"],
    }
    running = {"name": model, "model": model, "size": 6_654_289_920, "digest": "5ff0", "context_length": loaded}
    return {"/api/show": shown, "/api/ps": {"models": [running] if loaded else []}}


def llama_cpp(n_ctx: Any = 16_384) -> dict[str, Any]:
    settings = {"id": 0, "id_task": -1, "n_ctx": n_ctx, "speculative": False, "is_processing": False, "params": {}}
    return {"/props": {"default_generation_settings": settings, "total_slots": 1, "model_path": "/m.gguf"}}


def vllm(model: str, length: Any = 32_768, *, owner: str = "vllm") -> dict[str, Any]:
    card = {"id": model, "object": "model", "created": 1_723_770_563, "owned_by": owner, "root": model, "parent": None}
    return {"/v1/models": {"object": "list", "data": [card | {"max_model_len": length}]}}


def lm_studio(model: str, *, most: Any = 131_072, loaded: Any = None) -> dict[str, Any]:
    row = {"id": model, "object": "model", "type": "llm", "publisher": "qwen", "arch": "qwen3"}
    row |= {"compatibility_type": "gguf", "quantization": "Q4_K_M", "max_context_length": most}
    row |= {"state": "loaded", "loaded_context_length": loaded} if loaded else {"state": "not-loaded"}
    return {"/api/v0/models": {"object": "list", "data": [row]}}


def litellm(model: str, *lengths: Any) -> dict[str, Any]:
    rows = [
        {
            "model_name": model,
            "litellm_params": {"model": f"azure/{model}"},
            "model_info": {"id": str(number), "db_model": False, "max_tokens": 4_096, "max_input_tokens": length},
        }
        for number, length in enumerate(lengths)
    ]
    return {"/model/info": {"data": rows}}


def cut_off(answer: Answer, request: Request, room: int) -> Answer:
    """The answer of a server with room for so many tokens of request and reply together."""
    if request.tokens >= room:
        words = "the request exceeds the available context size, try increasing it"
        return Answer(status=400, code="exceed_context_size_error", message=words)
    if request.tokens + answer.tokens <= room:
        return answer
    used = {"prompt_tokens": request.tokens, "completion_tokens": room - request.tokens}
    return replace(answer, finish_reason="length", usage=used)


def with_mark(answer: Answer, request: Request, read: int) -> Answer:
    """The answer of a model that has read the last `read` tokens: with the mark, if the order was among them."""
    left = read
    for message in reversed(request.messages):
        left -= count_tokens(text_of(message)) + 4
        found = MARK.search(text_of(message)[:100])
        if found and left >= 0 and answer.status == 200 and not answer.events:
            return replace(answer, text=f"{found[1]} {answer.text}")
    return answer
