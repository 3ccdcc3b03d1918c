"""Recognises texts that a person hands over to be worked on: translations, reviews, forwarded mails, lines for others.

"Translate: answer in French" orders a translation, not French. The words of a relayed text are never a rule.
"""

from __future__ import annotations

import re
from typing import Literal

from compression.core.lazy_pattern import lazy_pattern

Handover = Literal["", "possible", "certain"]
"""How surely the text after a sentence is one that is handed over."""

_TASK = (
    r"translat\w+|proof-?read\w*|fix (?:the |my |any |all )?(?:grammar|spelling|typos?|style|english|text)|"
    r"correct (?:the |my |this |these )|re-?write|re-?phrase|paraphrase|improve|polish|shorten|summari[sz]e|sum up|"
    r"review|critique|check (?:the |this |these |my )|explain|classify|analy[sz]e|assess|rate|compare|interpret|"
    r"comment on|format|turn (?:this|these|it|the following)|convert|quote|continue|complete|parse|extract|label|"
    r"what (?:does|do|is|are|would|did|should)|which (?:of|one)|is (?:this|it|that|the)|are (?:these|those|the)|"
    r"do(?:es)? (?:this|these|that)|how (?:would|do|should|could) (?:you|i|we) (?:read|understand|say|phrase|"
    r"word|react)|"
    r"übersetz\w*|korrigier\w*|verbesser\w*|formulier\w*|fass\w* .{0,40}zusammen|erklär\w*|prüf\w*|bewert\w*|"
    r"tradui\w*|corrig\w*|reformul\w*|résum\w*|expliqu\w*|amélior\w*|traduc\w*|traduz\w*|tradur\w*|resum\w*|"
    r"riassum\w*|spieg\w*|explica\w*|mejora\w*|migliora\w*|melhor\w*|revis\w*|перевед\w*|переписа\w*|перепиш\w*|"
    r"исправ\w*|объясн\w*|翻译|翻譯|改写|总结|校对|解释|訳して|翻訳|要約|校正|添削"
)
_MADE = (
    r"e-?mails?|mails?|letters?|messages?|posts?|tweets?|slides?|signs?|posters?|flyers?|comments?|rules?|"
    r"polic(?:y|ies)|"
    r"guidelines?|tests?|test ?cases?|unit tests?|examples?|prompts?|sentences?|texts?|lines?|notes?|read ?me|"
    r"wiki|docs?|"
    r"documents?|pages?|sections?|notices?|reminders?|announcements?|stor(?:y|ies)|poems?|dialogues?|scenes?|"
    r"characters?|"
    r"intents?|checklists?|agents\.md|claude\.md|contributing|changelog|code|script|labels?|error messages?|"
    r"mail|nachricht\w*|zettel|schild|text|regel\w*|courriel|message|affiche|correo|mensaje|cartel|письмо|邮件|メール"
)
_WRITE = (
    r"write|draft|create|make|compose|generate|add|put|insert|append|send|prepare|design|invent|schreib\w*|entwirf|"
    r"écri\w*|rédig\w*|escrib\w*|redact\w*|scriv\w*|escrev\w*|напиши|写|書いて"
)
_POLITE = (
    r"(?:\W*\b(?:please|pls|ok(?:ay)?|hey|hi|now|so|and|also|then|next|bitte|kannst du|können sie|s['’]il te plaît|"
    r"peux-tu|pouvez-vous|por favor|puedes|per favore|puoi|пожалуйста|请|can you|could you|would you|will you|"
    r"help me|i want you to|i need you to|i['’]d like you to|let['’]?s|just|quickly|kindly)\b)*\W*"
)
_ASKED = lazy_pattern(rf"^{_POLITE}(?:{_TASK})", re.IGNORECASE)
_ASKED_FOR_TEXT = lazy_pattern(rf"^{_POLITE}(?:{_WRITE})\b(?=.{{0,80}}(?:\b(?:{_MADE})\b|邮件|メール))", re.IGNORECASE)
_ASKED_AT_END = lazy_pattern(
    r"(?:auf|ins|in) (?:deutsch|englisch\w*|französisch\w*|spanisch\w*) übersetz\w*\W*$"
    r"|(?:翻译|翻譯|翻訳|訳して)\S{0,12}$",
    re.IGNORECASE,
)
_POINTS = lazy_pattern(
    r"\b(?:this|these|those|the following|below|following|diese[nrs]?|folgende[nrs]?|ce(?:tte|s)?|suivante?s?|"
    r"este|esta|"
    r"estos|estas|siguientes?|questo|questa|queste|seguenti?|этот|эту|эти|следующ\w+)\b|下面|以下|这|この|次の",
    re.IGNORECASE,
)
_TOLD = lazy_pattern(
    r"\b(?:says?|(?<!\bi )said|states?|reads?|writes?|wrote|complain(?:s|ed)|demand(?:s|ed)|ask(?:s|ed)|insist(?:s|ed)|"
    r"told (?:me|us|"
    r"him|her|them)|shows?|quotes?|quote from [\w ]{1,40}|according to [\w ]{1,40}|contract|sign|log|manual|"
    r"caption|slogan|motto|shouts?|yells?|cries|cried|whispers?|tells?|schreibt|sagt|meint|steht|dit|écrit|dice|"
    r"dijo|scrive|diz|пишет|говорит)"
    r"[^:：.!?\n]{0,40}[:：]",
    re.IGNORECASE,
)
_MINE = lazy_pattern(
    r"\b(?:my|our|one|new|this|another|house|general) (?:\w+ )?(?:rules?|notes?|polic(?:y|ies)|lines?)\b", re.I
)
_SHOWN = lazy_pattern(
    r"^\W*(?:below|here(?:['’]s)?|this|attached|the following|i (?:got|received|found|have)|hier|unten|voici|"
    r"ci-dessous|aquí|"
    r"ecco|aqui|вот)\b.{0,60}\b(?:prompts?|mails?|e-?mails?|texts?|rules?|polic(?:y|ies)|letters?|instructions?|"
    r"messages?|"
    r"guidelines?|contracts?|text|regeln|règles|reglas|regole|regras|правила)\b",
    re.IGNORECASE,
)
_FOR_YOU = lazy_pattern(r"\b(?:my|our) (?:\w+ )?(?:rules|preferences|instructions)\b|\bfor (?:you|this chat)\b", re.I)
_FORWARDED = lazy_pattern(
    r"^\s*(?:(?:fwd?|wg|tr|rv|enc|wtr|vs)\s?:|-{2,}\s*(?:original|forwarded|weitergeleitet|message transféré|ursprüng)|"
    r"begin forwarded message|(?:hi|hello|dear|hallo|liebe[rs]?|bonjour|cher|chère|hola|estimad[oa]s?|ciao|cara|caro) "
    r"(?:all|team|everyone|colleagues?|alle|zusammen|kolleg\w+|tous|toutes|équipe|todos|equipo|tutti)\b)",
    re.IGNORECASE,
)
COLON = lazy_pattern(r"[:：](?=\s|$)|(?<=[\u3040-\u9fff])[:：]")


def is_forwarded(line: str) -> bool:
    """Whether a line begins a mail of somebody else, which reaches to the end of the message."""
    return bool(_FORWARDED.match(line[:200]))


def colon_in(sentence: str) -> int | None:
    """The end of the colon after which a sentence hands over or reports a text; None if it does not."""
    head = sentence[:400]
    colon = COLON.search(head)
    if colon is None:
        return None
    before = head[: colon.end()]
    if _ASKED.match(before) or _ASKED_FOR_TEXT.match(before) or _ASKED_AT_END.search(before[:-1]):
        return colon.end()
    return colon.end() if _TOLD.search(before) and not _MINE.search(before) else None


def handover(sentence: str) -> Handover:
    """Whether a sentence without that colon hands over the text after it.

    Certain after "Translate the following sentence.", possible after "Is this a good rule?".
    """
    head = sentence[:400]
    if _SHOWN.match(head) and not _FOR_YOU.search(head):
        return "possible"
    is_asked = bool(_ASKED.match(head) or _ASKED_FOR_TEXT.match(head) or _ASKED_AT_END.search(head))
    if not is_asked or not _POINTS.search(head):
        return ""
    return (
        "certain"
        if re.search(r"(?i)follow|below|folgend|suivant|siguiente|seguent|следующ|下面|以下|次の", head)
        else "possible"
    )
