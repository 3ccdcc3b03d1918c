"""Repeats a refused request without the optional fields that its server names, or in the form that it names.

A caller sets the same options for every model: an effort, a seed, a limit under one of its two names. Any field that a
server refuses is left out, unless it decides what an answer contains (`tools`, `response_format`, `stop`, `n` …): then
the caller gets the refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conversations.llm.providers import reply_lengths
from conversations.llm.providers.choices import as_object
from conversations.llm.providers.fault_mapping import Endpoint

Body = dict[str, Any]

DECIDING = frozenset({
    *("model", "messages", "system", "stream", "tools", "tool_choice", "functions", "function_call"),
    *("mcp_servers", "container", "documents", "plugins"),
    *("web_search_options", "search_parameters", "enable_search"),
    *("response_format", "output_config", "output_format", "format", "structured_outputs", "grammar", "json_schema"),
    *("guided_json", "guided_regex", "guided_grammar", "guided_choice"),
    *("stop", "stop_sequences", "n", "best_of", "logprobs", "top_logprobs", "modalities", "audio", "suffix", "echo"),
    *("max_tokens", "max_completion_tokens"),
})  # fmt: skip
"""The fields that decide what an answer contains."""
IDLE: tuple[object, ...] = (None, False, "", "auto", [], {}, ["text"], {"type": "auto"})
"""Values with which a field decides nothing."""
PLAIN_WORDS = ("temperature", "verbosity")
"""Names of one word that no sentence has by chance. An error must quote other ones, or call them a parameter."""
LIMITS = ("max_tokens", "max_completion_tokens")
EFFORT = "reasoning_effort"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
CONFIG, METADATA, EDITING = "output_config", "metadata", "context_management"
THINKING = {"enabled": "adaptive", "adaptive": "enabled"}
"""The two types of Anthropic's thinking: newer models take only the second, older ones only the first."""
FORCED = ("any", "tool")
"""The types of Anthropic's `tool_choice` that force a call."""
BUDGETS = (1_024, 8_192)
"""The least and the usual tokens for thoughts, for a caller that names no number."""
STATUSES = (400, 404, 415, 422, 500, 501)
"""The statuses of these refusals: 404 is OpenRouter's, 500 that of some llama.cpp servers."""

_REFUSED = re.compile(
    r"unsupported|not? support|not (?:permitted|allowed|available)|unrecogni[sz]ed|unknown|deprecated"
    r"|unexpected (?:keyword|argument|field|parameter|property)|extra.?(?:inputs?|forbidden)|only the default"
    r"|should not exist|could not be mapped|could not find member|additional.?propert|expected never"
    r"|cannot both|no such|does not match any|incompatible|may not be|only allowed|may only be|not enabled"
    r"|only [\d.]+ is allowed|invalid service_tier|\bunset\b|requires the beta",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\b(?:between|range|(?:less|greater|smaller|larger) than|at (?:most|least)|above|below|non-negative|positive)\b"
    r"|[<>]=",
    re.IGNORECASE,
)
"""The words of an error about a value: another caller's value may be accepted."""
_WITHIN = re.compile(r"""\b(?:messages?|tools?|system)['"]?[.\[,/ ]+\d""")
"""The place of an error that is about a part of a message or a tool."""
_ADAPTIVE = re.compile(r"^(?!.*(?:temperature|top_[pk])).*adaptive", re.DOTALL)
"""The words of an error about the type of Anthropic's thinking, and not about sampling beside it."""
_TYPE = re.compile(r"thinking.{0,12}\btype\b.{0,60}(?:should be|must be|expected|\benum)", re.IGNORECASE | re.DOTALL)
_DISPLAY = re.compile(r"thinking.{0,40}\bdisplay\b", re.IGNORECASE | re.DOTALL)
_FORCED_THINKING = re.compile(r"thinking.{0,40}tool_choice forces", re.IGNORECASE | re.DOTALL)
_OTHER_EFFORT = re.compile(
    r"must be (?:one of|equal to|low|none|minimal)|should be|permitted|expected one of|\benum|not one of"
    r"|valid choice|not valid|invalid (?:value (?:at )?\w|option|reasoning.effort)|converted to|only available"
    r"|thinking level.{0,20} not supported|not support (?:the )?effort",
    re.IGNORECASE,
)
_EFFORT = re.compile(r"reasoning[_. ]?effort|thinking[_ ]?level", re.IGNORECASE)
_EFFORT_OF_CONFIG = re.compile(r"\beffort\b", re.IGNORECASE)
_QUOTED_EFFORT = re.compile(rf"""\\?['"`]({"|".join(EFFORTS)})\\?['"`]""")
_LISTED_EFFORTS = re.compile(rf"\b(?:{'|'.join(EFFORTS)})(?:(?:,| or|, or) (?:{'|'.join(EFFORTS)}))+\b", re.IGNORECASE)
_FORCED = re.compile(
    r"(?:think|reason|\bmodel\b).{0,80}tool[_ ]?choice"
    r"|tool[_ ]?choice.{0,80}(?:think|reason|\bmodel\b|required|\bany\b)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ServerForm:
    """The form in which a server takes requests for a model.

    `omitted` are fields that it refuses. `limit` is its name for the limit of an answer, and `most` the largest value;
    `efforts` are the efforts that it knows, and `thinking` is its type of Anthropic's thinking. Empty or None: as the
    caller sends it. `shows_thinking` is whether Anthropic's thinking may say how it is shown, and `thinks_when_forced`
    whether it may be on in a request that forces a call.
    """

    omitted: frozenset[str] = frozenset()
    limit: str = ""
    most: int | None = None
    efforts: tuple[str, ...] = ()
    thinking: str = ""
    takes_forced_calls: bool = True
    shows_thinking: bool = True
    thinks_when_forced: bool = True

    def applied(self, body: Mapping[str, Any]) -> Body:
        """The request in this form."""
        sent = {name: value for name, value in body.items() if name not in self.omitted}
        asked = next((sent[name] for name in LIMITS if name in sent), None)
        if asked is not None and self.limit:
            sent = {name: value for name, value in sent.items() if name not in LIMITS} | {self.limit: asked}
        for name in LIMITS:
            if self.most and isinstance(sent.get(name), int) and sent[name] > self.most:
                sent = with_room_for_thoughts(sent | {name: self.most})
        if self.efforts and sent.get(EFFORT) in EFFORTS:
            sent[EFFORT] = _nearest(sent[EFFORT], self.efforts)
        if EFFORT not in body and _effort_in(sent.get(CONFIG)) and (self.efforts or EFFORT in self.omitted):
            config = self._config(sent.pop(CONFIG))
            sent |= {CONFIG: config} if config else {}
        return with_fitting_edits(self._with_calls(self._with_thinking(sent)), given=body)

    def after(self, complaint: str, sent: Mapping[str, Any], *, status: int) -> ServerForm | None:
        """The form to try after a refusal of `sent`; None if the refusal names none that would change the request."""
        if status not in STATUSES:
            return None
        return next((form for form in self._forms(complaint, sent) if form.applied(sent) != sent), None)

    def changed(self, body: Mapping[str, Any]) -> list[str]:
        """The names of the caller's fields that this form leaves out or replaces, apart from limits and messages."""
        sent = self.applied(body)
        return [name for name in body if name not in (*LIMITS, "messages") and sent.get(name) != body[name]]

    def _forms(self, complaint: str, sent: Mapping[str, Any]) -> Iterator[ServerForm]:
        asked = next((sent[name] for name in LIMITS if isinstance(sent.get(name), int)), None)
        if (limit := reply_lengths.limit_named_in(complaint, asked=asked)) and limit.is_of_model:
            yield replace(self, most=limit.tokens)
        effort, named = sent.get(EFFORT), _EFFORT
        if effort is None:
            effort, named = _effort_in(sent.get(CONFIG)), _EFFORT_OF_CONFIG
        is_of_config = named is _EFFORT_OF_CONFIG and _REFUSED.search(complaint)
        if effort in EFFORTS and named.search(complaint) and (is_of_config or _refuses_effort(complaint, effort)):
            yield self._with_efforts(_efforts_in(complaint, refused=effort))
        if "metadata.user_id" in complaint:
            yield replace(self, omitted=self.omitted | {METADATA})
        other = THINKING.get(str(as_object(sent.get("thinking")).get("type")))
        if other and _DISPLAY.search(complaint):
            yield replace(self, shows_thinking=False)
        if other and (_TYPE.search(complaint) or (_ADAPTIVE.search(complaint) and _REFUSED.search(complaint))):
            yield replace(self, omitted=self.omitted | {"thinking"}) if self.thinking else replace(self, thinking=other)
        if other and _FORCED_THINKING.search(complaint):
            yield replace(self, thinks_when_forced=False)
        if not _REFUSED.search(complaint):
            return
        is_about_part = _WITHIN.search(complaint) is not None
        optional = [name for name, value in sent.items() if not is_about_part and _is_optional(name, value)]
        refused = [name for name in optional if _names(complaint, name)]
        if EFFORT in refused and (efforts := _efforts_in(complaint, refused=sent[EFFORT])):
            yield self._with_efforts(efforts)
        if len(refused) > 1 and "both" in complaint:
            refused = refused[1:]
        if refused and ("unset" in complaint or not _VALUE.search(complaint)):
            yield replace(self, omitted=self.omitted | set(refused))
        for name, other in (LIMITS, LIMITS[::-1]):
            if name in sent and name in complaint and not self.limit:
                yield replace(self, limit=other)
        if _FORCED.search(complaint):
            yield replace(self, takes_forced_calls=False)

    def _with_thinking(self, sent: Body) -> Body:
        """The request with Anthropic's thinking in this form."""
        given = as_object(sent.get("thinking"))
        if given.get("type") not in tuple(THINKING):
            return sent
        if not self.thinks_when_forced and as_object(sent.get("tool_choice")).get("type") in FORCED:
            return {name: value for name, value in sent.items() if name != "thinking"}
        if self.thinking and self.thinking != given["type"]:
            return sent | _thinking(self.thinking, limit=sent.get("max_tokens"))
        if not self.shows_thinking:
            sent["thinking"] = {name: value for name, value in given.items() if name != "display"}
        return sent

    def _with_calls(self, sent: Body) -> Body:
        if not self.takes_forced_calls and sent.get("tool_choice") not in (*IDLE, "none", {"type": "none"}):
            is_anthropic = as_object(sent["tool_choice"]).get("type") in FORCED
            sent["tool_choice"] = {"type": "auto"} if is_anthropic else "auto"
        return sent

    def _config(self, config: Body) -> Body:
        """Anthropic's `output_config` with an effort that the server knows, or without one."""
        rest = {name: value for name, value in config.items() if name != "effort"}
        return rest if EFFORT in self.omitted else rest | {"effort": _nearest(config["effort"], self.efforts)}

    def _with_efforts(self, efforts: tuple[str, ...]) -> ServerForm:
        """The form with the efforts that a server knows; without an effort if it knows none but "none"."""
        if set(efforts) <= {"none"}:
            return replace(self, omitted=self.omitted | {EFFORT})
        return replace(self, efforts=efforts)


def _is_optional(name: str, value: object) -> bool:
    """Whether a field may be left out."""
    is_effort_alone = name == CONFIG and "format" not in as_object(value)
    return name not in DECIDING or value in IDLE or (name, value) == ("n", 1) or is_effort_alone


def with_room_for_thoughts(sent: Body) -> Body:
    """The request whose budget of Anthropic's thinking is below its limit, as the API requires.

    The budget is half of a limit that is too small for it; below the API's least budget the model does not think.
    """
    thinking, limit = as_object(sent.get("thinking")), sent.get("max_tokens")
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or not isinstance(limit, int) or budget < limit:
        return sent
    half = limit // 2
    fitting = thinking | {"budget_tokens": half} if half >= BUDGETS[0] else {"type": "disabled"}
    return with_fitting_edits(sent | {"thinking": fitting}, given=sent)


def with_fitting_edits(sent: Body, *, given: Mapping[str, Any]) -> Body:
    """The request without the edits of thoughts that the API refuses where thinking, on in `given`, is off."""
    was_on, is_on = (as_object(body.get("thinking")).get("type") in tuple(THINKING) for body in (given, sent))
    edits = as_object(sent.get(EDITING)).get("edits")
    if not was_on or is_on or not isinstance(edits, list):
        return sent
    kept = [edit for edit in edits if not str(as_object(edit).get("type")).startswith("clear_thinking")]
    if len(kept) == len(edits):
        return sent
    rest = {name: value for name, value in sent.items() if name != EDITING}
    return rest | ({EDITING: sent[EDITING] | {"edits": kept}} if kept else {})


def _effort_in(config: object) -> str:
    """The effort in Anthropic's `output_config`, "" without a known one."""
    effort = as_object(config).get("effort")
    return effort if effort in EFFORTS else ""


def _thinking(kind: str, *, limit: object) -> Body:
    """The field with thinking of a type; without it if the limit of the answer leaves no room for a budget."""
    if kind == "adaptive":
        return {"thinking": {"type": "adaptive"}}
    least, usual = BUDGETS
    budget = min(usual, limit - 1) if isinstance(limit, int) else usual
    return {"thinking": {"type": "enabled", "budget_tokens": budget} if budget >= least else {"type": "disabled"}}


def _names(complaint: str, name: str) -> bool:
    """Whether an error names a field, also without underscores as in `presencePenalty` and "reasoning effort"."""
    spelled = re.escape(name).replace("_", "[_ ]?")
    if name.endswith("_penalty") and re.search(r"(?<![a-z_])penalty\b", complaint, re.IGNORECASE):
        return True
    if name == CONFIG and "effort parameter" in complaint:
        return True
    if name == "thinking" and "support thinking" in complaint:
        return True
    if "_" in name or name in PLAIN_WORDS:
        return bool(re.search(rf"(?<![a-z_]){spelled}(?![a-z_])", complaint, re.IGNORECASE))
    return bool(
        re.search(
            rf"""['"`]/?{spelled}\\*['"`](?!\s*:)|unknown name \\*['"]{spelled}\b|\bbody\.{spelled}\b"""
            rf"""|key \[{spelled}\]|['"]message['"]: ['"].{{0,40}}\b{spelled}: """
            rf"""|(?:parameter|argument|field|propert|key)\w*(?: supplied| not allowed)?:? (?:\w+, )*{spelled}\b"""
            rf"""|(?:\n|\\n){spelled}(?:\n|\\n)|['"]{spelled}['"]:\s*\[\s*['"](?:unknown|extra)""",
            complaint,
            re.IGNORECASE,
        )
        or re.match(rf".{{0,40}}\b{spelled}: ", complaint)
        or (name != "user" and re.search(rf"\b{spelled} is (?:not supported|unsupported)", complaint, re.IGNORECASE))
    )


def _refuses_effort(complaint: str, effort: object) -> bool:
    """Whether an error about the effort says that a server does not know it."""
    return bool(_OTHER_EFFORT.search(complaint) or re.search(rf"['\"`]{effort}['\"`]", complaint))


def _efforts_in(complaint: str, *, refused: object) -> tuple[str, ...]:
    """The efforts that an error lists as known."""
    found = set(_QUOTED_EFFORT.findall(complaint)) - {refused}
    if not found and (listed := _LISTED_EFFORTS.search(complaint)):
        found = set(re.findall(r"\w+", listed[0].lower())) - {refused}
    return tuple(effort for effort in EFFORTS if effort in found)


def _nearest(effort: str, known: tuple[str, ...]) -> str:
    """The known effort that is nearest to an effort, the lower one of two."""
    place = EFFORTS.index(effort)
    return min(known, key=lambda one: (abs(EFFORTS.index(one) - place), EFFORTS.index(one)))


_learned: dict[tuple[str, str, str], ServerForm] = {}


def known_form(who: Endpoint) -> ServerForm:
    """The form that a server's model has accepted since this process began, by the API of the endpoint."""
    return _learned.get((who.base_url, who.model, who.api), ServerForm())


def learn_form(who: Endpoint, form: ServerForm) -> None:
    """Remember the form that a server accepted, for this process and this API."""
    _learned[who.base_url, who.model, who.api] = form
