"""Checks by requests of the site's own whether a server drops the front of long requests.

A server that counts tokens is judged by its counts, any other one by the mark at the head of a request.
"""

from __future__ import annotations

import secrets

from asgiref.sync import sync_to_async

from compression.core.tokens import count_tokens
from conversations.llm import canary
from conversations.llm.errors import ContextTooLong, EmptyReply, ModelError
from conversations.llm.profiles import connect
from conversations.llm.providers.provider import PROBE_TOKENS
from conversations.llm.request import Prompt
from conversations.llm.windows import windows
from conversations.llm.windows.window_evidence import MIN_REPORTED
from conversations.llm.windows.window_queries import is_own_server
from conversations.models import ModelProfile

MARK_TOKENS = 64
"""The room for a mark and a few words; the provider adds room for a model's thoughts."""
LINE = "This line stands here only for its length.\n"
QUESTION = "Answer with the mark and the word yes."
SHORT_SHARE = 0.25
"""The length of the shorter of two requests whose counts are compared, as a share of the longer one."""
WHOLE_SHARE = 0.9
"""The share of the expected growth from the shorter to the longer request that a server which reads all counts."""


async def check(profile_id: int, tokens: int) -> None:
    """Check whether a profile's server reads requests of `tokens` tokens whole; lower the window if it does not.

    The requests have no words of people. A server that refuses them as too long reads as much as its replies ended at,
    if they did (`window_reports.learn_end`). A server that fails is checked again at the next suspicion.
    """
    profile = await ModelProfile.objects.filter(pk=profile_id).afirst()
    if profile is None or not is_own_server(profile):
        return
    mark = windows.mark_for(profile)
    try:
        await (_check_mark(profile, mark, tokens) if mark else _check_counts(profile, tokens))
    except ContextTooLong:
        if full := profile.window_evidence.get("full"):
            await sync_to_async(windows.lower)(profile, full, source=windows.Source.COUNTED)
    except ModelError:
        await sync_to_async(windows.note)(profile, missed=None)


async def _check_counts(profile: ModelProfile, tokens: int) -> None:
    short, sent_short = await _counted(profile, round(SHORT_SHARE * tokens))
    long, sent_long = await _counted(profile, tokens)
    factor = min(1.0, short / sent_short)
    if long < MIN_REPORTED or long - short >= WHOLE_SHARE * factor * (sent_long - sent_short):
        await sync_to_async(windows.note)(profile, read=tokens)
    else:
        await sync_to_async(windows.lower)(profile, long, source=windows.Source.COUNTED)


async def _counted(profile: ModelProfile, tokens: int) -> tuple[int, int]:
    """The tokens of a request of about `tokens` tokens: as its server counts them (0: not at all), and by our count.

    The request begins with a word of its own: what a server has in its cache it may leave out of its count.
    """
    text = f"{secrets.token_hex(8)}\n{_filler(tokens)}Answer with the word yes."
    prompt = Prompt(({"role": "user", "content": text},))
    try:
        spent = (await connect(profile).complete(prompt, max_tokens=PROBE_TOKENS)).spent
    except EmptyReply as empty:  # a model that thinks first has read the request too
        spent = empty.spent
    return (spent.prompt if spent else 0), count_tokens(text)


async def _check_mark(profile: ModelProfile, mark: str, tokens: int) -> None:
    """Ask with the mark before a short text, then before one of `tokens` tokens, then before shorter ones.

    A model that does not repeat the mark of the short text is not asked for it again.
    """
    if not await _hears(profile, mark, 0):
        await sync_to_async(windows.note)(profile, deaf=True, missed=None)
        return
    if await _hears(profile, mark, tokens):
        await sync_to_async(windows.note)(profile, read=tokens, missed=None)
        return
    shorter = tokens // 2
    while shorter > windows.MIN_WINDOW and not await _hears(profile, mark, shorter):
        shorter //= 2
    await sync_to_async(windows.note)(profile, missed=None)
    await sync_to_async(windows.lower)(profile, shorter, source=windows.Source.MARK)


async def _hears(profile: ModelProfile, mark: str, tokens: int) -> bool:
    prompt = canary.marked(Prompt(({"role": "user", "content": f"{_filler(tokens)}{QUESTION}"},)), mark)
    return mark in (await connect(profile).complete(prompt, max_tokens=MARK_TOKENS)).text


def _filler(tokens: int) -> str:
    return LINE * (tokens // count_tokens(LINE))
