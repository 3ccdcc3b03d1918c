"""Lists of English words that carry little content. The lists by word class contain no negations or conditions."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(text.split())


ARTICLES = words("a an the")

DETERMINERS = words("a an the this that these those some any such all each every both either another other")

AUXILIARIES = words(
    "am is are was were be been being do does did has have had having will shall 's 're 've 'd 'll can may get "
    "gets got getting gotten gonna gotta let lets i'm it's that's there's here's what's who's where's how's he's "
    "she's we're you're they're i've you've we've they've i'd i'll you'd you'll he'd he'll she'd she'll we'd "
    "we'll they'd they'll it'll it'd that'll that'd let's y'all"
)

FILLERS = words(
    "just really very quite totally definitely actually basically absolutely certainly simply literally truly pretty "
    "super kinda sorta anyway yeah yep yes yup ok okay oh wow whoa woah hey hi hello haha lol gosh hmm um uh ah aw "
    "aww please thanks"
)

VAGUE = words(
    "so too even still also well like now then here there though again ever much many more most lot lots bit sort "
    "kind such cool sure right thank else maybe perhaps thing things something anything everything stuff way ways etc"
)

CONJUNCTIONS = words(
    "and or as than while though although because since so that which who whom whose what when where how whether"
)

PREPOSITIONS = words(
    "of to in on at by for with into onto over up out off about through around along across within upon toward towards"
)

SELF = words("i me my mine myself we us our ours ourselves it its itself you your yours yourself")

OTHERS = words("he him his himself she her hers herself they them their theirs themselves")

LIGHT_VERBS = words(
    "go goes going went gone come comes came coming take takes taking took make makes making made give gives gave "
    "giving keep keeps kept know knows knew want wants wanted say says said see sees saw seen look looks looking "
    "feel feels felt think thinks thought need needs try tries tried trying put use"
)

ENGLISH = (
    DETERMINERS
    | AUXILIARIES
    | FILLERS
    | VAGUE
    | CONJUNCTIONS
    | PREPOSITIONS
    | SELF
    | OTHERS
    | LIGHT_VERBS
    | words(
        "but if not no nor only own same from before after until without against between during would could should "
        "might must aren't isn't wasn't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't "
        "wouldn't shouldn't one"
    )
)

GENERIC = words(
    "great love loved loves amazing awesome good nice fun happy glad excited beautiful wonderful special "
    "important best better new time times day days life people person friend friends feel feeling enjoy enjoyed "
    "enjoying help helps helped helping hope thing sound sounds inspiring incredible proud support supporting "
    "supportive experience experiences moment moments meaningful big little lovely fantastic perfect interesting "
    "talk talking share sharing work working start started appreciate grateful thankful chat back always never "
    "journey mean means joy lucky care means reminder remind reminds bring brings keep awesome passion passionate "
    "dream dreams"
)
"""Words of praise and feeling that occur in most chats, and so hardly distinguish conversations."""
