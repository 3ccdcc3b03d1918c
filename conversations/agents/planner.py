"""Carries out a planner's own tools: delegate a task to an executor, and answer its questions."""

from __future__ import annotations

import asyncio
from functools import partial

from asgiref.sync import sync_to_async

from conversations.agents import executor, runs
from conversations.agents.reply_scope import Work
from conversations.agents.tools.toolbox import checked
from conversations.context.tools import DELEGATE
from conversations.llm.tools import Spec, ToolRequest
from conversations.runtime.retry import retry_on_database_error


async def carry_out(work: Work, asked: ToolRequest, among: tuple[Spec, ...]) -> str:
    """Carry out a planner's call; returns the executor's answer. Raises ToolFailed and LeaseLost.

    A call that was begun by a worker that stopped is continued where that worker was.
    """
    arguments = await asyncio.to_thread(checked, asked, among)
    run = await sync_to_async(runs.begun_by)(work, asked.id)
    if run is None and asked.name == DELEGATE:
        run = await retry_on_database_error(partial(runs.begin, work, asked.id, arguments["task"]))
    elif run is None:
        run = await retry_on_database_error(partial(runs.clarify, work, asked.id, arguments["message"]))
    return await executor.go_on(work, run)
