"""Whether an order is addressed to the assistant, or is advice for anybody ("always back up your data").

An order is the assistant's if one of these holds:

- its act is one of answering or of working on code ("cite", "summarise", "commit", "deploy");
- it names something that the assistant makes or works on ("answers", "tests", "port 8080", "`eval`", "node-7");
- it names the person as the one whom the assistant serves ("tell me", "when I ask", "without my approval");
- it says that it is a rule of this conversation ("from now on", "rule 1:", "in this project", "please").

None of these counts where "you" or "your" means anybody ("your data", "when you travel"; "your answer" and "before you
commit" are the assistant's), nor in an order about people that does not name the person.
"""

from __future__ import annotations

import re

from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.english_verbs import ANSWERING, WORKING, WRITING, is_act
from compression.core.ledger.own_words import MASK
from compression.core.text.stopwords import ENGLISH

_AUXILIARY = (
    r"(?:are|were|be|do|don['’]?t|did|didn['’]?t|have|haven['’]?t|had|can|can['’]?t|cannot|could|will|won['’]?t|"
    r"would|should|must|shall|need|want|going|about|to|not|also|really|already|always|never|ever|just|first|only|"
    r"please|then)"
)
_YOU_ACT = lazy_pattern(rf"\byou\b(?:['’](?:re|ve|ll|d))?\s+(?:{_AUXILIARY}\s+)*(?P<act>[a-z][a-z-]+)", re.IGNORECASE)
_YOURS = lazy_pattern(r"\byour\b(?P<thing>(?:[ -][\w'’]+){0,3})|\b(?P<self>yours|yourself|yourselves)\b", re.IGNORECASE)
_MADE = lazy_pattern(
    r"\b(?:answers?|repl(?:y|ies)|responses?|messages?|outputs?|explanations?|summar(?:y|ies)|sentences?|paragraphs?|"
    r"wording|phrasing|tone|style|language|voice|code|tests?|commits?|branch(?:es)?|functions?|variables?|comments?|"
    r"snippets?|examples?|sources?|citations?|references?|reasoning|thinking|thoughts?|math|numbers|figures|facts|"
    r"results|assumptions?|uncertaint(?:y|ies)|"
    r"confidence|claims?|statements?|suggestions?|recommendations?|proposals?|conclusions?|steps?|calculations?|"
    r"changes|edits?|diffs?|patch(?:es)?|implementations?|solutions?|quer(?:y|ies)|drafts?|translations?|tables?|"
    r"training(?: data)?|knowledge|limits?|limitations|system prompt|instructions?|tools?|role|persona|opinions?)\b",
    re.IGNORECASE,
)
_SHOWN_WORK = lazy_pattern(
    r"\b(?:show|explain|check|double-check|review) your work\b|\b(?:repeat|correct|restate|introduce|limit|restrict) "
    r"yourself\b",
    re.IGNORECASE,
)

TECHNICAL = lazy_pattern(
    r"`[^`]+`|\b[\w.-]*[a-z][\w.-]*\d[\w.-]*\b|\w_\w|(?<!\w)[.~]?/\w[\w./-]*|\b[\w-]{2,}\.[a-z]\w{1,7}\b|"
    r"(?<!\w)--?[a-z][\w-]+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|"
    r"\b(?!(?:ALWAYS|NEVER|EVER|NOT|ONLY|ALL|ANY|EVERY|NO|AND|OR|DO|DONT|IS|BE|MUST|STOP|PLEASE|TV|"
    r"OK)\b)[A-Z]{2,6}s?\b|"
    r"(?i:\b(?:push|commits?|merge|rebase|deploy\w*|branch(?:es)?|repos?(?:itory)?|json|yaml|toml|xml|html|css|csv|sql|"
    r"api|endpoints?|regex(?:es)?|eval|exec|goto|sudo|npm|pnpm|yarn|pip|conda|docker|kubernetes|terraform|git|bash|"
    r"python|java|javascript|typescript|golang|kotlin|ruby|php|perl|postgres(?:ql)?|mysql|sqlite|mongodb|redis|kafka|"
    r"nginx|linux|pytest|jest|mypy|ruff|eslint|prettier|webpack|django|flask|fastapi|angular|svelte|jquery|tailwind|"
    r"bootstrap|lodash|markdown|latex|unicode|ascii|tabs|snake_case|camelcase|kebab-case|async|lambdas?|mocks?|"
    r"fixtures?)\b)|\b(?:sur|su|auf|nach|na|no|em|a|en|to|on|into|in|в|до) main\b|main(?:分支|に|へ)|到main"
)
"""Names of code, files and machines, in any language."""
_STYLED = lazy_pattern(
    r"\b(?:emojis?|emoticons?|smileys?|bullet(?:[ -]?points?|s)|headings?|headers|bold|italics|jargon|buzz ?words|"
    r"filler|small ?talk|disclaimers?|caveats|preambles?|introductions?|outros?|pleasantries|flattery|exclamation "
    r"(?:marks?|points?)|em[- ]?dash(?:es)?|semi-?colons?|placeholders?|passive voice|active voice|abbreviations|"
    r"acronyms|clich[eé]s?|metaphors|rhetorical|docstrings?|hashtags?|slang|profanity|sarcasm|footnotes?|"
    r"contractions|spoilers?|anglicisms|metric|imperial|celsius|fahrenheit|oxford comma\w*|title case|sentence case|"
    r"british|american english|first person|third person|verbose|concise\w*|brief(?:ly)?|politely|formally|bluntly|"
    r"english|german|french|spanish|italian|portuguese|russian|chinese|japanese|korean|dutch|plain language)\b",
    re.IGNORECASE,
)
_OBJECT = lazy_pattern(
    r"\b(?:answers?|repl(?:y|ies)|responses?|messages?|outputs?|explanations?|summar(?:y|ies)|sentences?|paragraphs?|"
    r"code(?:base)?|tests?|master|production|prod|staging|files?|paths?|commands?|versions?|citations?|snippets?|"
    r"functions?|variables?|constants|docs|documentation|types?|type hints|migrations?|databases?|schemas?|servers?|"
    r"clusters?|ports?|librar(?:y|ies)|packages?|dependenc(?:y|ies)|frameworks?|modules?|scripts?|config(?:uration)?s?|"
    r"deployments?|containers?|builds?|errors?|imports|diffs?|user inputs?|plain text|https|encrypt\w+|decimals?|"
    r"releases?|pipelines?|exceptions|indentation|reasoning|assumptions?|"
    r"implementations?|quer(?:y|ies)|prompts?|tone|diagrams?)\b|(?<!same )\b(?:sources?|examples?|units|comments?)\b",
    re.IGNORECASE,
)
_WRITTEN = lazy_pattern(
    r"\b(?:words?|names?|dates?|links?|urls?|questions?|lists?|numbers?|steps|texts?|tables?|emails?|reports?|drafts?|"
    r"apolog(?:y|ies)|assumptions|guesses|warnings?|opinions?|greetings?|spelling|vocabulary)\b",
    re.IGNORECASE,
)
_SERVED = lazy_pattern(
    r"\b(?:me|my|mine|us|our|ours)\b|\bwhen(?:ever)? I\b|\bI (?:ask|say|send|write|request)\b", re.IGNORECASE
)
_STANDING = lazy_pattern(
    r"\b(?:from (?:now|here|this (?:point|moment|day)|today) (?:on(?:wards?)?|forward)|going forward|henceforth|"
    r"from here on out|please|pls|plz|"
    r"in future|(?:in|for) (?:this|our|the whole|the rest of this) (?:\w+ )?(?:projects?|chats?|conversations?|"
    r"sessions?|repo\w*|code ?base|thread|work)|I(?:['’]d| would)? (?:want|need|expect|require|ask|like|order|prefer) "
    r"you to)\b|\brules?\b[^:]{0,40}:",
    re.IGNORECASE,
)
_NAME_USED = lazy_pattern(r"\b[Uu]se\s+(?:the |any |only )?[A-Z]\w+")
_PEOPLE = lazy_pattern(
    r"\b(?:people|others|strangers?|kids?|child(?:ren)?|parents?|friends?|neighbou?rs?|spouse|wife|husband|women|men|"
    r"woman|man|guests?|family|mom|mum|dad|each other|one another)\b",
    re.IGNORECASE,
)
_ANSWERED_THING = lazy_pattern(
    r"^(?:answer|repl(?:y|ies)|respond)\s+(?:to\s+)?(?:the|an?|strangers?|spam|unknown)\b", re.IGNORECASE
)


def is_addressed(sentence: str, act: str, *, start: int = 0) -> bool:
    """Whether an English order with this act, which begins at `start` in the sentence, is the assistant's."""
    if is_for_anybody(sentence):
        return False
    if act in WORKING or (act in ANSWERING and not _ANSWERED_THING.match(sentence[start:])):
        return True
    written = f"{sentence[:start]}{MASK}{sentence[start + len(act) :]}"  # an act names nothing: "test the water"
    written = written.lower() if written.isupper() else written
    named = (TECHNICAL, _STYLED, _OBJECT, _SERVED, _STANDING, _NAME_USED)
    if any(pattern.search(written) for pattern in named):
        return True
    if _SHOWN_WORK.search(sentence) or any(_MADE.search(found["thing"] or "") for found in _YOURS.finditer(sentence)):
        return True
    return act in WRITING and bool(_WRITTEN.search(written, start))


def is_for_anybody(sentence: str) -> bool:
    """Whether an English sentence is about how anybody lives: its "you" or "your" means anybody, or it is of people."""
    if _PEOPLE.search(sentence) and not _SERVED.search(sentence):
        return True
    plain = _SHOWN_WORK.sub(" ", sentence)
    if any(found["self"] or not _MADE.search(found["thing"]) for found in _YOURS.finditer(plain)):
        return True
    acts = (found["act"].lower() for found in _YOU_ACT.finditer(plain))
    return any(not is_act(act) and act not in ENGLISH for act in acts)
