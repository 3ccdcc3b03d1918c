"""LlamaIndex's Memory with vectors that need no network: WordLlama's embeddings, a store in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wordllama
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory import Memory, VectorMemoryBlock
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQuery, VectorStoreQueryResult

from compression.core.tokens import count_tokens


class WordLlamaEmbedding(BaseEmbedding):
    """The 256 dimensions that the package ships with."""

    _model: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        shipped = Path(wordllama.__file__).parent  # its own search looks in "tokenizer", its files are in "tokenizers"
        self._model = wordllama.WordLlama.load(cache_dir=shipped, disable_download=True)

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(number) for number in self._model.embed([text], norm=True)[0]]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class InMemory(BasePydanticVectorStore):
    """A store of vectors that keeps the texts, as VectorMemoryBlock asks; LlamaIndex's own simple one does not."""

    stores_text: bool = True
    _nodes: list[BaseNode] = PrivateAttr(default_factory=list)

    @property
    def client(self) -> None:
        return None

    def add(self, nodes: list[BaseNode], **more: Any) -> list[str]:
        self._nodes += nodes
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **more: Any) -> None:
        raise NotImplementedError

    def query(self, query: VectorStoreQuery, **more: Any) -> VectorStoreQueryResult:
        wanted = query.query_embedding or []
        scored = [(sum(a * b for a, b in zip(wanted, node.get_embedding(), strict=True)), node) for node in self._nodes]
        best = sorted(scored, key=lambda one: -one[0])[: query.similarity_top_k]
        return VectorStoreQueryResult(
            nodes=[node for _, node in best], similarities=[score for score, _ in best],
            ids=[node.node_id for _, node in best],
        )  # fmt: skip


def memory(token_limit: int) -> Memory:
    """A memory of at most `token_limit` tokens, by our count; the rest as LlamaIndex has it."""
    block = VectorMemoryBlock(vector_store=InMemory(), embed_model=WordLlamaEmbedding())
    return Memory.from_defaults(
        token_limit=token_limit, token_flush_size=token_limit // 10, memory_blocks=[block],
        tokenizer_fn=lambda text: [0] * count_tokens(str(text)),
    )  # fmt: skip
