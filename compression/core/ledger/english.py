"""English orders, preferences, decisions and corrections, sentence by sentence."""

from __future__ import annotations

import re
from typing import Final

from compression.core.ledger.acts import SOFT, VERBS, WRITING, base_of_gerund
from compression.core.ledger.addressee import is_addressed, is_for_anybody
from compression.core.ledger.patterns import Pattern
from compression.core.text.stopwords import words

_OUTPUT = (
    r"(?:answers?|repl(?:y|ies)|responses?|messages?|sentences?|paragraphs?|outputs?|explanations?|summar(?:y|ies)|"
    r"texts?|code|tests?|commits?|branch(?:es)?|main|master|production|prod|files?|paths?|commands?|versions?|"
    r"sources?|"
    r"citations?|examples?|units?|tables?|lists?|bullets?|emojis?|tone|comments?|snippets?|functions?|variables?|"
    r"names?|numbers?|dates?|links?|urls?|docs?|documentation|words?|questions?|steps?|headings?|markdown|json|sql|"
    r"english|language|proofs?|diagrams?|units|drafts?|emails?|reports?|reasoning|types?|docstrings?|migrations?)"
)
_ASSISTANT = Pattern(
    rf"\b{_OUTPUT}\b|\bwhen(?:ever)? I (?:ask|say|request|mention|talk|want|write|send)\b"
    r"|\b(?:tell|show|give|send|ask|remind|warn|address|call|help|teach|quiz|walk|correct|let) me\b(?! down)"
    r"|\bas (?:an AI|a language model)\b|\bto me\b|\b(?:honest|frank|candid|blunt|strict|patient|brief) with me\b"
    r"|\bmy (?:data|names?|address|files|code|passwords?|keys|secrets|details|text|wording|style)\b|"
    r"\bmake (?:up (?:facts|"
    r"sources|numbers|quotes|things|stuff|anything|answers)|assumptions about (?:me|my|us|our)|(?:facts|things|"
    r"stuff|anything|it) up)\b"
    r"|\bkeep it (?:short|brief|concise|simple)\b",
)

_LEAD_WORD = (
    r"(?:please|pls|plz|and|but|so|also|ok(?:ay)?|oh|yes|yeah|hey|hi|again|then|thanks|now|well|btw|just|kindly|note|"
    r"important(?:ly)?|remember|reminder|rule|rules|notice|attention|ah|right|finally|lastly|first(?:ly)?|"
    r"second(?:ly)?|"
    r"additionally|further(?:more)?|moreover|henceforth|overall|generally|in general|as always|seriously|"
    r"one (?:more |last |other )?(?:thing|rule|request)(?: for (?:all of )?(?:this|you))?|"
    r"(?:a |my |new |another |general |standing |hard |house |first |second |important )+rule|"
    r"in (?:the )?future|from (?:now|here|this (?:point|moment|day)|today) (?:on(?:wards?)?|forward)|"
    r"from here on out|going forward|"
    r"as (?:a|an|the) (?:general )?rule|for (?:this|the|our|my|all|every) (?:whole |entire |rest of (?:the|this) )?"
    r"(?:projects?|chats?|conversations?|sessions?|repos?(?:itory)?|code ?base|future|answers?|repl(?:y|ies)|thread|"
    r"work)|"
    r"in (?:this|the|our|all|every|your) (?:whole |entire |future )?(?:projects?|chats?|conversations?|sessions?|"
    r"repos?(?:itory)?|code ?base|answers?|repl(?:y|ies)|responses?|thread)|"
    r"i(?:'ve|’ve)? (?:said|repeat|told you|mean)|it(?:'s|’s| is) (?:very )?important (?:that you|that|to)|"
    r"i(?:'d|’d| would)? (?:want|need|expect|require|ask|like|beg|order|prefer) you to|"
    r"you(?:'re|’re| are)? (?:must|should|shall|will|need to|have to|are to|to|ought to)|"
    r"(?:make|be) (?:very )?sure (?:that )?(?:you |to |your )?|remember to|try to|that|if (?:at all )?possible|"
    r"let(?:'|’)s (?:agree|say)(?: that)?|my (?:only )?(?:request|wish|rule)(?: is)?(?: that| to)?|dear \w+)"
)
_SCOPE = (
    r"(?:(?:when(?:ever)?|if|for|in|on|during|unless|while|before|after|where|as long as|with|every time|each "
    r"time)\b[^.!?;:\u25a1]{1,100}?,\s*(?:please\s+)?)"
)
_LEAD = rf"(?:(?:\d{{1,2}}\s*)?{_LEAD_WORD}\b(?:\s*#?\d{{1,2}})?[\s,:;–—-]*)*"
_BEGIN = rf"^{_LEAD}(?:{_SCOPE})?{_LEAD}"

_EVER = Pattern(
    rf"{_BEGIN}(?P<cue>always|never(?:,? ever)?|(?:do not|don['’]?t|dont) (?:you )?ever(?: again)?|"
    r"under no circumstances(?: (?:should|may|must|can|do|are) you(?: to)?)?|at no (?:time|point)|in no case|"
    r"(?:you\s+(?:must|should|shall|may)|must|should|may|can|shall|are) (?:always|never|not(?: ever)?)(?: be allowed "
    r"to)?|(?:mustn|shouldn|"
    r"can)['’]?t(?: ever)?|"
    r"not (?:allowed )?to(?: ever)?|only(?: ever)?|consistently|without exception,?)\s+"
    r"(?:\w+ly\s+|please\s+|again\s+|ever\s+|just\s+|first\s+|only\s+|also\s+|at least\s+)*(?P<verb>[a-z][a-z-]+)\b",
)
_DO_NOT = Pattern(
    rf"{_BEGIN}(?:do not|don['’]?t|dont)\s+(?:\w+ly\s+|please\s+|you\s+|just\s+|always\s+)*(?P<verb>[a-z][a-z-]+)\b",
)
_FORBIDDEN: Final = words(
    "abbreviate add address answer apologise apologize assume begin bold call capitalise capitalize change cite "
    "comment commit delete deploy drop edit end execute explain fabricate flatter force-push format give greet "
    "guess hallucinate hardcode hedge include install introduce invent lecture make mention merge mock modify "
    "moralise moralize offer omit output overwrite paraphrase praise preach print propose publish push rebase "
    "recommend refactor remove rename repeat rephrase reply respond restart restate rewrite run shorten sign skip "
    "speak squash start sugar-coat sugarcoat suggest summarise summarize switch thank touch translate truncate "
    "upgrade use write"
)
_STRICT: Final = words("end begin start sign call make give offer run touch change speak drop mention switch skip")
"""Verbs of `_FORBIDDEN` that everyday advice has too: the sentence must name what an assistant makes."""
_ONCE = Pattern(
    r"\b(?:yet|(?<!from )now|for now|this time|right now|at the moment|today|tonight|tomorrow|until|till|anymore if|"
    r"for the moment|first thing|(?:this|that|the) one\b|here|if you)\b|[:=]\s*$",
)
_STYLE = (
    r"(?:emoji(?:s|es)?|emoticons?|smileys?|bullet(?:s|(?:ed)?[- ]?(?:points?|lists?))?|(?:numbered |bulleted |long "
    r")?lists?|tables?|"
    r"markdown|headings?|headers?|bold(?: text)?|italics|jargon|buzz ?words?|filler(?: words?)?|fluff|small ?talk|"
    r"apolog(?:y|ies)|"
    r"disclaimers?|caveats?|preambles?|introductions?|intros?|outros?|conclusions?|pleasantries|flattery|praise|"
    r"compliments?|"
    r"exclamation (?:marks?|points?)|em[- ]?dash(?:es)?|semi-?colons?|placeholders?|hedging|moralizing|lectures?|"
    r"lecturing|"
    r"passive voice|abbreviations?|acronyms?|clich[eé]s?|metaphors?|rhetorical questions?|follow-?up questions?|"
    r"(?:code |inline )?comments?|docstrings?|explanations?|summar(?:y|ies)|code blocks?|warnings?|hashtags?|slang|"
    r"swear(?:ing| words)|profanity|sarcasm|jokes?|repetitions?|guess(?:es|ing|work)|assumptions?|sign-?offs?|"
    r"greetings?|links|footnotes?|latex|html|(?:external |third[- ]party |new )?(?:dependencies|libraries|packages)|"
    r"force[- ]push(?:es|ing)?|type hints?|semicolons|contractions?|walls? of text|spoilers?|tabs|anglicisms|yapping)"
)
_NO = Pattern(
    rf"{_BEGIN}(?:no|zero|without|skip(?: the| all)?|leave out(?: the| all)?|drop(?: the| all)?|omit(?: the| all)?|"
    rf"avoid(?: the| all| any| using)?|no need for|less|fewer|stop with(?: the| all)?|enough with the|lose the)\s+"
    rf"(?:more\s+|any\s+|further\s+|unnecessary\s+|of the\s+|your\s+|such\s+|the\s+)*{_STYLE}\b(?P<rest>.*)$",
)
_STOP = Pattern(
    rf"{_BEGIN}(?:stop|quit|cease|refrain from|avoid|no more|cut out(?: the)?|enough)\s+(?:always\s+|constantly\s+|"
    rf"ever\s+|all the\s+|with the\s+|the\s+|"
    r"your\s+)*(?P<act>apologi[sz]ing|using|repeating|adding|saying|asking|explaining|writing|summari[sz]ing|including|"
    r"suggesting|"
    r"guessing|making (?:things|stuff|it|that) up|praising|flattering|hedging|lecturing|ending|starting|beginning|"
    r"thanking|"
    r"calling me|hallucinating|inventing|moralizing|preaching|abbreviating|translating|quoting|mentioning|rewriting|"
    r"committing|pushing to|deploying|answering|replying|responding|printing|telling me|giving me|sending me|"
    r"reminding me|"
    r"greeting|restating|paraphrasing|apologies|agreeing|sugar-?coating|yapping|rambling|truncating|assuming|"
    r"overusing|"
    r"acting|pretending|reformatting|refactoring|renaming|hard-?coding|mocking|skipping|speaking|talking (?:in|like|"
    r"about)|being so (?:verbose|wordy|formal|polite|chatty|vague))\b",
)
_SIZE = (
    r"(?:short(?:er)?|brief(?:er)?|concise|terse|succinct|simple|compact|crisp|minimal|tight|small|low|formal|"
    r"informal|casual|"
    r"friendly|neutral|professional|technical|focused|free (?:of|from)|to the point|on point|plain|readable|"
    r"(?:under|below|within|at most|at|around|about|to|no (?:more|longer) than|less than|fewer than|shorter than|"
    r"between|in|"
    r"as (?:short|brief|concise|simple) as))"
)
_KEEP = Pattern(
    rf"{_BEGIN}(?:keep|limit|restrict|cap|hold|make|trim|cut|shorten|confine)\s+(?:all\s+(?:of\s+)?|your\s+|the\s+|"
    rf"every\s+|each\s+|any\s+|future\s+)*"
    r"(?:answers?|repl(?:y|ies)|responses?|messages?|outputs?|explanations?|summar(?:y|ies)|paragraphs?|sentences?|"
    r"code(?: "
    rf"comments| snippets| samples| examples)?|comments|texts?|tone|language|style|functions?|commits?|commit "
    rf"messages)\s+(?:\w+\s+)?{_SIZE}\b",
)
_KEEP_IT = Pattern(
    rf"{_BEGIN}(?:keep|make) (?:it|things|everything) (?:all )?(?:(?:very |really )?(?:short|brief|concise|terse|"
    rf"succinct)(?: and [\w ]+)?|"
    r"(?:under|below|within|to|at most|less than|no more than) \d+ (?:words?|sentences?|lines?|paragraphs?|tokens?|"
    r"characters?))"
    r"(?:,? please| from now on| always)?[.!]*$",
)
_MANNER = (
    r"(?:brief(?:ly)?|short(?:ly)?|concise(?:ly)?|terse(?:ly)?|succinct(?:ly)?|direct(?:ly)?|polite(?:ly)?|"
    r"formal(?:ly)?|"
    r"informal(?:ly)?|casual(?:ly)?|blunt(?:ly)?|precise(?:ly)?|exact(?:ly)?|factual(?:ly)?|to the point|"
    r"(?:more|less) (?:brief|concise|terse|direct|polite|formal|informal|casual|blunt|precise|exact|factual|verbose|"
    r"wordy|chatty|critical|neutral|objective|detailed|specific|technical)|"
    r"verbose|critical(?:ly)?|neutral(?:ly)?|objective(?:ly)?)"
)
_BE = Pattern(
    rf"{_BEGIN}(?:be|stay|remain|answer|reply|respond|write|speak)\s+(?:as\s+|very\s+|more\s+|always\s+|"
    rf"only\s+)*{_MANNER}"
    rf"(?:(?:,| and|, and| but) (?:\w+ )?{_MANNER})*(?: as possible)?(?P<rest>[^.!?]{{0,60}})[.!]*$",
)
_IN_YOUR = Pattern(
    r"^(?:,?\s*(?:please|from now on|always|in (?:all |every |each )?(?:of )?(?:your |future )*(?:answers?|repl(?:y|"
    r"ies)|"
    r"responses?|explanations?|code|messages?|texts?|this (?:chat|conversation|project)|general)|with me|at all|"
    r"when(?:ever)? .{1,80}|unless .{1,80}|ever(?: again)?|either|going forward|thanks?(?: you)?|anywhere|here|to me|"
    r"or \w+|and (?:no )?\w+(?: \w+)?|, (?:no )?\w+(?: \w+)?|in (?:the )?(?:code|text|output)))*\s*[.!]*$",
)
LANGUAGES = (
    r"(?:(?:british|american|simple|plain|proper) )?(?:english|german|french|spanish|italian|portuguese|russian|"
    r"chinese|mandarin|"
    r"japanese|korean|dutch|polish|turkish|arabic|hindi|swedish|norwegian|danish|finnish|czech|greek|hebrew|"
    r"ukrainian|"
    r"romanian|hungarian|vietnamese|thai|indonesian|latin|catalan|persian|farsi)"
)
_ANSWER_IN = Pattern(
    rf"{_BEGIN}(?:answer|reply|respond|speak|talk|communicate|write(?: back)?|explain(?: everything| things)?)\s+"
    r"(?:to me\s+|me\s+|back\s+|only\s+|exclusively\s+|everything\s+|always\s+|all (?:my )?questions\s+|to "
    r"everything\s+|with me\s+)*"
    rf"(?:(?:only |exclusively )?(?:in|using|with|like|as)\s+(?:an? |the |only |at most |no more than |max(?:imum)? "
    rf"|up to |exactly |full |valid |clear |short |your |very )*"
    rf"(?:{LANGUAGES}|(?:one|two|three|four|five|six|\d+)(?:[- ](?:to|or|-) ?\w+)? (?:words?|sentences?|lines?|"
    rf"paragraphs?)|plain (?:text|language|words)|"
    r"bullet points?|bullets|markdown|json|tables?|prose|full sentences|rhymes?|lower ?case|upper ?case|(?:first|"
    r"third) person|"
    r"sentences|paragraphs|numbered lists?|steps|haikus?|yaml|xml|html|metric units|simple (?:words|terms)|"
    r"layman'?s terms|citations|sources|code(?: only)?)"
    r"|without\b)(?P<rest>.*)$",
)
_USE = Pattern(
    rf"{_BEGIN}(?:use|prefer|stick to|write in|speak|format (?:\w+ ){{0,3}}(?:as|in|with))\s+(?:only\s+|the\s+|a\s+|"
    rf"an\s+|always\s+)*"
    rf"(?:{LANGUAGES}(?: (?:spelling|units|english))?|metric(?: units)?|imperial(?: units)?|si units|celsius|"
    rf"fahrenheit|(?:simple|plain|formal|informal|gender[- ]neutral|inclusive|simpler|everyday) (?:language|words|"
    rf"english|tone|style)|"
    r"(?:a |an )?(?:formal|informal|casual|friendly|professional|neutral) (?:tone|style|voice)|markdown|bullet "
    r"points?|tables?|tabs|spaces|(?:two|four|2|4) spaces|snake_case|camelcase|"
    r"kebab-case|pascalcase|(?:24|12)[- ]hour(?: \w+)?|iso(?: ?8601)?(?: \w+)?|type hints?|utc|sentence case|title "
    r"case|oxford commas?|short sentences|active voice|latex|code blocks?)"
    r"(?P<rest>.*)$",
)
_CALL_ME = Pattern(
    rf"{_BEGIN}(?:call|address|refer to) me\s+(?:as\s+|by\s+|with\s+)?(?!(?:back|later|when|if|tomorrow|today|"
    rf"tonight|soon|now|at|on|a|an|maybe|crazy|"
    r"any|after|before|once|anytime|whenever|again|in)\b)(?:(?:Dr|Mr|Mrs|Ms|Prof|St)\.)?[^.!?]{1,40}[.!]*$",
)
_OUTPUT_MUST = Pattern(
    rf"{_BEGIN}(?:(?:(?:all|every|each|any)\s+(?:of\s+)?)?your\s+(?:future\s+)?{_OUTPUT}|(?:all|every|each|"
    rf"any)\s+(?:the\s+|future\s+)?"
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|summar(?:y|ies)|code|commits?|messages?|snippets?)|"
    r"(?:the )?(?:answers|replies|explanations|summaries|commit messages))"
    r"(?:\s+(?:messages?|snippets?|samples?|examples?|blocks?))?\s+"
    r"(?:(?:must|may|has to|have to|needs? to|should|shall|are to|is to)\s+(?:always|never|not|only|all)\b|"
    r"(?:must|has to|have to|needs? to|are to|is to)\b)",
)
_STANDING = Pattern(
    r"\b(?:from (?:now|here|this (?:point|moment|day)|today) (?:on(?:wards?)?|forward)|going forward|henceforth|"
    r"every time|each time|at all "
    r"times|without exception|"
    r"in (?:every|each|all)(?: of)?(?: your| the)?(?: future)? (?:answers?|repl(?:y|ies)|responses?|messages?|"
    r"explanations?)|"
    r"when(?:ever)? I (?:ask|request|say|send|write|mention|want|need|talk)|whenever you (?:\w+)|as a rule)\b",
)
_EACH_ANSWER = Pattern(
    rf"{_BEGIN}(?:always\s+)?(?:end|start|begin|finish|close|open|preface|prefix|sign|conclude|format|write|"
    rf"give|keep|add|"
    r"include|put)\b[^.!?]{0,60}\b(?:every|each|all(?: of)? your)(?: single)?(?: future)? (?:answers?|repl(?:y|ies)|"
    r"responses?|messages?|explanations?)\b"
)
_FOR_ALL = Pattern(
    r"^(?:please\s+)?(?:for|in|with) (?:all|every|each|any)(?: of)?(?: my| your| the| our)?(?: future| new)? "
    r"[\w -]{2,40},\s"
)
_SO = Pattern(
    r"[,;]\s*(?:so|and|therefore|hence|thus)\s+(?:please\s+)?(?P<order>(?:always|never|do not|don['’]t)\b.*)$"
)
_LIKELY = Pattern(
    rf"{_BEGIN}(?:ask|check with|consult|warn|tell|notify|alert|confirm with) me (?:first |for \w+ )?(?:before|"
    rf"prior to)\b"
    r"|^(?:(?:please|also|and|always|just)\s+)*(?:make sure|ensure|see to it)\b[^.!?]{1,120}\b(?:from now on|"
    r"always|never|every|each|all|only)\b"
    r"|^(?:please\s+)?(?:all|every|each|any) [^.!?:]{1,60}\b(?:must|has to|have to|needs? to)\b(?! be \w+ (?:by|at) )"
    r"|\blet['’]?s\b[^.!?]{1,100}\b(?:from now on|going forward|always|never|only|every time)\b"
    r"|\bI(?:['’]d)? prefer\b[^.!?]{1,100}[;,–—-]\s*(?:so |and )?please\b"
    r"|^(?:from (?:now|here|this (?:point|moment|day)|today) (?:on(?:wards?)?|forward)|in (?:the )?future|"
    r"going forward|"
    r"for the (?:rest|remainder) of (?:this|the|our) \w+|(?:when(?:ever)?|every time|"
    r"each time) I [^,.!?]{3,80}(?=,)),?\s+"
    r"(?:please\s+|just\s+|always\s+|only\s+)*(?!(?:I|he|she|it|they|my|our|the|a|an|his|her|their|there|this|that)\b)"
    r"(?:we (?:speak|use|write|talk|call|work)|(?!we\b)[a-z]+)\b(?! (?:is|are|was|were|will|would|am)\b)"
    r"|^(?:if|when(?:ever)?) you (?:do not|don['’]t|are not|aren['’]t|are|can['’]?not|can['’]t)?\s*(?:know|sure|unsure|"
    r"understand|find|quote|cite|write|change|answer|use|create|edit|make|give|suggest|mention|explain|show)\b"
    r"[^.!?,]{0,80},\s*(?:please\s+)?(?!(?:I|we|you|try|make|he|she|it|they|the|what|how|why|can|could|is|do|"
    r"does)\b)[a-z]+"
    r"|^(?:please\s+)?(?:use only|only use)\s"
    r"|^(?:all|every|each|any) (?:[\w-]+ )?(?:functions?|code|blocks?|class(?:es)?|files?|commits?|tests?|tables?|"
    r"headings?|modules?|scripts?|quer(?:y|ies)|endpoints?) needs?\b"
    r"|^(?:please\s+)?(?:treat me (?:like|as)|refer to me in the)\b"
    r"|\b(?:you(?:['’]re| are) (?:not |only |never )?(?:allowed|supposed|expected) to|I (?:expect|want|"
    r"need) (?:all|every|each) )"
)
"""Orders that may be meant for this task alone, or for people: the person is asked."""
_PER_ANSWER = Pattern(
    rf"{_BEGIN}(?:(?:use |write )?(?:no|not) more than|at most|max(?:imum|\.)?(?: of)?|up to|under|less than|"
    rf"fewer than|only)"
    r"\s+(?:\d{1,5}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|a hundred) (?:words?|sentences?|"
    r"lines?|paragraphs?|bullets?(?: points?)?|characters?|tokens?|questions?|examples?) (?:per|in (?:each|"
    r"every|all|any)|"
    r"(?:in|for) your) (?:your )?(?:answers?|repl(?:y|ies)|responses?|messages?|turn)\b"
)
_VERB_FIRST = Pattern(rf"{_BEGIN}(?P<verb>[a-z][a-z-]+)\b")
_DO_NOT_WANT = Pattern(
    rf"{_BEGIN}i (?:do not|don['’]?t|never) want (?:to see |you to use |to read )?(?:any |more |your |the |to "
    rf")*{_STYLE}\b",
)
_POLITE = Pattern(
    rf"{_BEGIN}(?:can|could|would|will|may i ask) you (?:please |kindly )?(?:mind )?(?:always|never|only|stop|stick|"
    rf"keep your|answer in|reply in|respond in|avoid)\b|"
    r"^i(?:'d|’d| would) (?:like|appreciate|love) (?:it if you(?:'d| would| could)?|you to) (?:always|never|only|"
    r"stop|avoid|keep|answer|reply|respond)\b|^you (?:can|may) (?:now )?(?:use|answer|write|skip|add)\b.*\b(?:again|"
    r"now)\b",
)
_WHEN_ASKED = Pattern(
    r"\bwhen(?:ever)? I (?:ask|request|mention|talk|say|want|need|bring up|discuss)\b|\bunless I (?:ask|say|tell)\b|"
    r"\bwithout (?:asking|telling|warning|consulting) me\b|\bwithout my (?:ok|okay|approval|permission|consent|"
    r"confirmation)\b",
)
_IDIOM = Pattern(
    r"\b(?:never say never|never (?:ever )?give up|never mind|never let (?:anyone|anything|them|him|her|it|fear|go)|"
    r"do(?:n['’]t| not) (?:ever )?"
    r"(?:give up|quit on|change who you are|change yourself|change a thing|give in|make (?:me laugh|a fuss|fun)|"
    r"start with me|mention it|sweat)|"
    r"always (?:keep (?:going|smiling|it up|your (?:head|chin|spirits))|follow your (?:heart|dreams)|trust your|"
    r"back (?:you|each)|support(?:ing)? (?:you|each)|walk)|"
    r"never (?:forget|stop \w+ing)|never (?:been|had|seen|done|know|knew)|"
    r"(?:always|never) (?:look|wait) (?:on|for) (?:the|you|me)|who you are\b|each other|one "
    r"another|our (?:dreams|journey|community)|commit(?:ting)? (?:an? |any |no )?(?:crimes?|suicide|fraud|sins?|"
    r"adultery|perjury|murder|treason))\b",
)

_PREFERENCE = Pattern(
    r"\bI(?:['’]d| would| do|['’]ve)?(?: (?:really|generally|usually|always|still|also|much|just|strongly|"
    r"personally|clearly|definitely|typically|often|tend to|actually|rather|normally|have always|would))* "
    r"(?:prefer(?:red|ring)?|favou?r|rather(?= (?:have|not|you|use|see|read|keep|avoid|go|do|get|work|stick|be|"
    r"the))|lean towards?|opt for|gravitate)\b"
    r"|\bmy (?:(?:strong|personal|own|general|stated|clear|main|\d+\w*) )*preferences?\b|\bthe preference for\b|"
    r"\bpreferring\b|\bmy preferred\b|\bpreference statement\b|\blike I prefer\b"
    r"|\bI(?:['’]m| am)(?: (?:really|also|currently|always))? (?:trying|aiming|looking|hoping|planning|striving|"
    r"working) to (?:keep|avoid|minimi[sz]e|stick|limit|reduce|stay|maintain|balance|tailor|integrat\w+|"
    r"prioriti[sz]e)\b"
    r"|\bI(?:['’]m| am) (?:not )?(?:a (?:big |huge )?fan of|more comfortable|most comfortable|keen on|fond of|"
    r"considering integrating|drawn to)\b"
    r"|\bI(?:['’]d like| want| would like| need|['’]d love| would love) to (?:keep|avoid|stick|minimi[sz]e|limit|"
    r"stay with|compare|prioriti[sz]e|focus on|see|use)\b"
    r"|\bI(?: really| also| do| just)? (?:hate|dislike|can(?:['’]t|not) stand|don['’]t (?:really )?(?:like|want|"
    r"need|care for))\b(?! to (?:be|go)\b)"
    r"|\bI(?: really| also| do)? (?:like|love|enjoy|appreciate|value) (?:it when|when you|how you|to have|having|"
    r"using|seeing|reading|working with|answers?|explanations?|examples?|short|long|detailed|visual|step-by-step|"
    r"clear|concise|simple|things)\b"
    r"|\b(?:works? best for me|is (?:best|better|easier|easiest) for me|suits me|means more to me|matters (?:most "
    r")?to me|I(?:['’]m| am) (?:a )?(?:visual|hands-on) learn\w*|I learn (?:best|better)|I find it (?:easier|"
    r"better))\b"
    r"|\bI(?: usually| generally| normally| always| tend to| mostly| typically)? (?:tend to|try to|make a point of|"
    r"insist on|believe in|value|prioriti[sz]e|stick (?:to|with))\b"
    r"|\brather than (?:using |a |an |the )?\w+|\bprefer(?:ably|red)\b",
)
_DECISION = Pattern(
    r"\b(?:I|we)(?:['’]ve| have|['’]d| had)?(?: (?:finally|just|already|also|now|jointly|both|all|recently|then|"
    r"therefore|ultimately))* "
    r"(?:decided|chose|chosen|agreed|opted|settled|concluded|resolved|committed|picked|selected|went with)\b"
    r"|\b(?:I|we)(?:['’]ll| will|['’]re going to| are going to| am going to|['’]m going to|['’]re| are)? (?:(?:just|"
    r"now|then|rather) )?(?:go(?:ing)? with|stick(?:ing)? (?:with|to)|settle on|switch(?:ing)? to|move to)\b"
    r"|\bwe(?:['’]ll| will) (?:use|take|keep|drop|deploy|ship|launch|release|start with|do)\b"
    r"|\blet['’]?s (?:go with|use|stick (?:with|to)|drop|switch to|settle on|pick|keep to|agree on|postpone|skip)\b"
    r"|\b(?:the|our|my|final) (?:final )?decision (?:is|was)\b|\bit(?:['’]s| is|['’]s been| has been) (?:decided|"
    r"settled|agreed)\b|^(?:decision|decided|agreed)\s?:",
)
_CORRECTION = Pattern(
    r"^(?:(?:no|nope|wait|sorry|oops|actually|hmm|well|ah|oh|ok(?:ay)?|but)[\s,:–—.-]+)*(?:correction\b|actually[, "
    r"]|scratch that|strike that|i (?:meant|misspoke|was wrong|made a mistake|mistyped|got (?:that|it) wrong)|"
    r"my mistake\b|to correct\b|let me correct\b|that(?:['’]s| is| was) (?:wrong|incorrect|not right|not (?:what|"
    r"correct)|outdated|no longer)|you (?:got|have) (?:that|it|the) .{0,30}wrong|"
    r"forget (?:the|that|what|about the) (?:rule|preference|instruction|i said|last))|"
    r"^(?:no|nope|wait|sorry|oops)[,:–—-]\s*(?:it(?:['’]s| is| was)|the \w+ (?:is|was)|not \w+ but|make (?:it|"
    r"that))\b|\b(?:is|are|was|were|at|on|to|be) [^.,;!?]{1,40}, not [^.,;!?]{2,40}[.!]*$|\bshould (?:have been|be|"
    r"say|read) [^.!?]{1,60}\b(?:not|instead of|rather than)\b|"
    r"^(?:you (?:can|may)|feel free to) (?:now )?.{3,60}\bagain\b|\bno longer (?:need|want|use|valid|true|holds|"
    r"applies|required)\b|\bno need to .{2,60}\bany ?more\b|\bchanged my mind\b",
)

_NARRATES = Pattern(
    r"^\W*(?:I|we|he|she|they|it|there|my|our|his|her|their)\b(?!['’]?d? (?:want|need|expect|require|like|prefer) "
    r"you)",
)


def is_sure_order(sentence: str) -> bool:
    """Whether a sentence orders the assistant without doubt how it answers or works, for good."""
    return _is_sure(sentence) or bool((found := _SO.search(sentence)) and _is_sure(found["order"]))


def _is_sure(sentence: str) -> bool:
    if sentence.endswith("?") or _IDIOM.search(sentence) or is_for_anybody(sentence):
        return False
    return (
        _is_ever(sentence)
        or _is_do_not(sentence)
        or _is_stop(sentence)
        or any(
            pattern.search(sentence)
            for pattern in (_KEEP, _CALL_ME, _OUTPUT_MUST, _DO_NOT_WANT, _EACH_ANSWER, _PER_ANSWER)
        )
        or any(_ends_there(pattern.search(sentence)) for pattern in (_NO, _BE, _ANSWER_IN, _USE))
        or _is_standing(sentence)
    )


def kind_of(sentence: str) -> str:
    """The kind of an entry that is noted: preference, decision, correction or rule; "" if the sentence is none."""
    if _CORRECTION.search(sentence) and (not sentence.endswith("?") or len(sentence) > 120):
        return "correction"
    if _LIKELY.search(sentence) and not sentence.endswith(("?", ":")) and not is_for_anybody(sentence):
        return "rule"
    if _PREFERENCE.search(sentence):
        return "preference"
    if _DECISION.search(sentence):
        return "decision"
    if _POLITE.search(sentence) or _is_unsure_order(sentence):
        return "rule"
    return ""


def _is_ever(sentence: str) -> bool:
    found = _EVER.search(sentence)
    if found is None or _NARRATES.match(sentence):
        return False
    verb, cue, start = found["verb"].lower(), found["cue"].lower(), found.start("verb")
    if cue.startswith(("only", "not to", "not allowed")) and not _ASSISTANT.search(sentence):
        is_answer = verb in ("answer", "reply", "respond", "use", "write", "output")
        return is_answer and not _ONCE.search(sentence) and is_addressed(sentence, verb, start=start)
    if verb in SOFT:
        return bool(_ASSISTANT.search(sentence, start))
    if verb in VERBS:
        return is_addressed(sentence, verb, start=start)
    return bool(_WHEN_ASKED.search(sentence)) and not verb.endswith(("ing", "ed"))


def _is_do_not(sentence: str) -> bool:
    found = _DO_NOT.search(sentence)
    if found is None or len(sentence.split()) > 30 or _ONCE.search(sentence):
        return False
    verb, start = found["verb"].lower(), found.start("verb")
    if verb not in _FORBIDDEN or (verb in _STRICT and not _ASSISTANT.search(sentence, start)):
        return False
    return is_addressed(sentence, verb, start=start)


def _is_stop(sentence: str) -> bool:
    """Whether a sentence ends a habit of the assistant's; "stop using …" is one only if it names what it is about."""
    found = _STOP.search(sentence)
    if found is None:
        return False
    act = base_of_gerund(found["act"].lower())
    return act not in WRITING or is_addressed(sentence, act, start=found.start("act"))


def _ends_there(found: re.Match[str] | None) -> bool:
    return found is not None and bool(_IN_YOUR.match(found["rest"]))


def _is_standing(sentence: str) -> bool:
    """Whether an imperative says that it holds for good: "From now on, cite your sources"."""
    found = _VERB_FIRST.search(sentence)
    is_standing = _STANDING.search(sentence) or _FOR_ALL.search(sentence)
    if found is None or not is_standing or _NARRATES.match(sentence):
        return False
    verb = found["verb"].lower()
    if verb in SOFT and not _ASSISTANT.search(sentence):
        return False
    return verb in VERBS | SOFT and is_addressed(sentence, verb, start=found.start("verb"))


def _is_unsure_order(sentence: str) -> bool:
    if sentence.endswith("?") or _IDIOM.search(sentence):
        return False
    if found := _DO_NOT.search(sentence):
        return found["verb"].lower() in _FORBIDDEN
    if found := _EVER.search(sentence):
        verb = found["verb"].lower()
        is_order = bool(_ASSISTANT.search(sentence)) if verb in SOFT else verb in VERBS
        return is_order and not _NARRATES.match(sentence)
    patterns = (_BE, _ANSWER_IN, _USE, _KEEP, _KEEP_IT, _STOP, _OUTPUT_MUST)
    return any(pattern.search(sentence) for pattern in patterns) and not sentence.endswith(":")
