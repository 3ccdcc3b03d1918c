"""English verbs of orders: acts of an assistant, and acts of everyday advice."""

from __future__ import annotations

from typing import Final

from compression.core.text.stopwords import words

VERBS: Final = words(
    "abbreviate abstract accept acknowledge adapt add address adhere adjust admit alert align alter analyse analyze "
    "annotate announce answer apologise apologize apply approve archive argue arrange ask assert assign assume "
    "attach attribute audit avoid back balance base begin benchmark blend block bold break bring browse build "
    "bullet cache calculate call cancel capitalise capitalize catch categorise categorize cc change chart check "
    "choose chunk cite clarify clean clear close code collect combine comment commit compare compile complete "
    "compute conclude condense configure confirm connect consider consult contextualise contextualize continue "
    "contrast convert copy correct count cover crawl create credit criticise criticize crop curse debug declare "
    "decrypt default define delete deliver demonstrate deploy derive describe design detail detect differentiate "
    "disable discuss display distinguish divide document double-check download draft drain draw echo edit email "
    "embed emphasise emphasize enable encode encourage encrypt end enforce ensure enumerate escalate escape estimate "
    "evaluate exaggerate exclude execute expand explain export expose express extract fabricate factor favor favour "
    "fetch fill filter finish fix flag flatter focus fold follow force-push format forward gather generate greet "
    "group guess guide hallucinate handle hardcode hash hedge highlight hyperlink hyphenate identify ignore "
    "illustrate implement import improvise include incorporate indent index indicate infer initialise initialize "
    "inline insert install insult interpret interrupt introduce invent invite italicise italicize join joke justify "
    "kill label leak lecture limit link lint list localise localize log lower lowercase mail maintain map mark "
    "match measure mention merge migrate mix mock modify monitor moralise moralize name narrate normalise normalize "
    "note notify number offer omit open optimise optimize order organise organize outline outperform output "
    "overwrite pad paginate paraphrase parse partition paste patronise patronize persist phrase pick pin ping plan "
    "pluralise pluralize point poll praise preach predict prefer prefix prepare present preserve print prioritise "
    "prioritize proceed produce profile prompt proofread propose prove provide provision publish push put quantify "
    "query quote raise ramble rank rate read rebase reboot recap recommend redact refactor refer reference refine "
    "reformat refuse reject relate release rely remind remove rename render reopen reorder repeat rephrase replace "
    "reply reply-all report request require research resolve respect respond restart restate restore restrict "
    "restructure retry return reuse reveal revert review revise revoke rewrite rhyme rotate round route run salt "
    "sample sanitise sanitize save say scale scan schedule scrape search seed select send separate serve set "
    "shorten shout show shuffle shut sign simplify simulate sketch skip solve sort speak specify speculate spell "
    "split spoil squash stage start state store stream structure style subclass submit substitute suffix suggest "
    "sum summarise summarize supply support swallow swap swear switch sync tabulate tackle tag tailor talk template "
    "terminate test thank throw tie time-box title tokenise tokenize touch trace track transcribe translate treat "
    "trim truncate type underline understand undo unify uninstall update upgrade upload uppercase use vacuum "
    "validate vary verify version visualise visualize vote waffle wait walk warn weigh wrap write"
)
"""Base forms of acts that a person can ask an assistant for: "always cite", "never push"."""

SOFT: Final = words(
    "be begin bring change count do encourage end find follow forget get give go have help keep learn leave let lie "
    "listen look make mind remember respect say share start stop support take tell think trust try wait walk work"
)
"""Verbs of everyday advice ("never give up"): orders only where the sentence names what an assistant makes."""

ANSWERING: Final = words(
    "abbreviate annotate answer apologise apologize assume bold bullet capitalise capitalize cite clarify comment "
    "conclude contextualise contextualize define describe emphasise emphasize enumerate exaggerate explain fabricate "
    "flatter format greet guess hallucinate hedge highlight hyperlink hyphenate illustrate improvise infer invent "
    "italicise italicize justify lecture lowercase mention moralise moralize narrate outline paginate paraphrase "
    "patronise patronize phrase pluralise pluralize praise preach quantify quote ramble recap recommend refer "
    "reference reformat rephrase reply respond restate rewrite rhyme shout simplify specify speculate spell suggest "
    "summarise summarize swear tabulate tokenise tokenize transcribe translate truncate uppercase waffle"
)
"""Acts of somebody who answers."""
WORKING: Final = words(
    "benchmark commit compile debug delete deploy force-push hardcode lint merge migrate mock modify overwrite parse "
    "push rebase reboot refactor reformat rename restart revert squash subclass"
)
"""Acts of somebody who works on code and servers."""
WRITING: Final = words(
    "add append ask attach avoid begin display emit end give include insert list make name number output place print "
    "provide put return show start state use write"
)
"""Acts that are an assistant's where they name a part of a text: "include links", "ask questions"."""
KNOWING: Final = words(
    "sure unsure certain uncertain know doubt understand think believe asked told done finished stuck blocked unable "
    "able make made give given say said see find found get got lack cannot"
)
"""Acts and states of an assistant in a clause about it: "unless you are sure"."""

_ACTS: Final = VERBS | ANSWERING | WORKING | WRITING | KNOWING
_ENDINGS = ("", "s", "es", "d", "ed", "ing")


def is_act(word: str) -> bool:
    """Whether a word is a form of a verb for what an assistant does or knows: "commit", "commits", "committing"."""
    if word in _ACTS:
        return True
    stems = [word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)]
    return any(_ACTS & {stem, f"{stem}e", stem[:-1] if stem[-2:-1] == stem[-1:] else stem} for stem in stems if stem)


def base_of_gerund(word: str) -> str:
    """The base form of "using", "adding", "beginning": a known act, or the word without its ending."""
    stem = word.removesuffix("ing")
    forms = (stem, f"{stem}e", stem[:-1])
    return next((form for form in forms if form in _ACTS), stem)
