"""Checks by requests of our own whether a server drops the front of a request, or its model only forgets the mark."""

from __future__ import annotations

from asgiref.sync import sync_to_async

from compression.core.tokens import count_tokens
from conversations.llm import canary, windows
from conversations.llm.errors import ModelError
from conversations.llm.profiles import connect
from conversations.llm.request import Prompt
from conversations.models import ModelProfile

MAX_TOKENS = 32
LINE = "This line stands here only for its length.\n"
QUESTION = "Answer with the mark and the word yes."


async def check(profile_id: int, tokens: int) -> None:
    """Ask with the mark before a short text, then before one of `tokens`; lower the window if only the first is heard.

    The first costs some fifty tokens, the second is as long as the request whose mark was missed.
    """
    profile = await ModelProfile.objects.filter(pk=profile_id).afirst()
    mark = windows.mark_for(profile) if profile else ""
    if profile is None or not mark:
        return
    try:
        if not await _hears(profile, mark, 0):
            await sync_to_async(windows.note)(profile, deaf=True, missed=None)
        elif await _hears(profile, mark, tokens):
            await sync_to_async(windows.note)(profile, heard=tokens, missed=None)
        else:
            read = profile.window_evidence.get("heard") or tokens // 2
            await sync_to_async(windows.note)(profile, missed=None)
            await sync_to_async(windows.lower)(profile, read, source=windows.Source.MARK)
    except ModelError:
        await sync_to_async(windows.note)(profile, missed=None)  # the next two misses have it checked again


async def _hears(profile: ModelProfile, mark: str, tokens: int) -> bool:
    filler = LINE * (tokens // count_tokens(LINE))
    prompt = canary.marked(Prompt(({"role": "user", "content": f"{filler}{QUESTION}"},)), mark)
    return mark in (await connect(profile).complete(prompt, max_tokens=MAX_TOKENS)).text
