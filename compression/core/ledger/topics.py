"""Finds the topic of an entry, so that a later entry about it can take its place."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final

from compression.core.lazy_pattern import lazy_pattern
from compression.core.ledger.values import Topic
from compression.core.text.stemming import stem
from compression.core.text.stopwords import ENGLISH, words

_LANGUAGE_NAMES: Final = {
    "english": r"english|englisch|anglais|inglés|ingles|inglese|inglês|английск\w+|по-английски|英文|英语|英語",
    "german": r"german|deutsch|allemand|alemán|aleman|tedesco|alemão|немецк\w+|по-немецки|德文|德语|ドイツ語",
    "french": r"french|französisch|français|francais|francés|frances|francese|francês|французск\w+|по-французски|"
    r"法文|"
    r"法语|フランス語",
    "spanish": r"spanish|spanisch|espagnol|español|espanol|castellano|spagnolo|espanhol|испанск\w+|по-испански|"
    r"西班牙语|"
    r"西班牙文|スペイン語",
    "italian": r"italian|italienisch|italien|italiano|итальянск\w+|по-итальянски|意大利语|イタリア語",
    "portuguese": r"portuguese|portugiesisch|portugais|portugués|portoghese|português|португальск\w+|"
    r"по-португальски|葡萄牙语|ポルトガル語",
    "russian": r"russian|russisch|russe|ruso|russo|русск\w+|по-русски|俄文|俄语|ロシア語",
    "chinese": r"chinese|mandarin|chinesisch|chinois|chino|cinese|chinês|китайск\w+|по-китайски|中文|汉语|中国語",
    "japanese": r"japanese|japanisch|japonais|japonés|giapponese|japonês|японск\w+|по-японски|日文|日语|日本語",
    "dutch": r"dutch|niederländisch|holländisch|néerlandais|neerlandés|holandés|olandese|holandês|nederlands",
    "polish": r"(?<=\bin )polish|(?<=\bto )polish|polnisch|polonais|polaco|polacco|polonês|polsk[iu]|по-польски",
    "turkish": r"turkish|türkisch|turc|turco|türkçe|по-турецки",
    "korean": r"korean|koreanisch|coréen|coreano|한국어|по-корейски|韩语|韓国語",
    "arabic": r"arabic|arabisch|arabe|árabe|arabo|العربية|по-арабски|阿拉伯语|アラビア語",
    "hindi": r"hindi|हिन्दी|印地语|ヒンディー語",
    "ukrainian": r"ukrainian|ukrainisch|ukrainien|ucraniano|ucraino|українськ\w+|украинск\w+|по-украински",
    "czech": r"czech|tschechisch|tchèque|checo|ceco|tcheco|češtin\w|česky|по-чешски",
    "swedish": r"swedish|schwedisch|suédois|sueco|svedese|svenska|по-шведски",
    "danish": r"danish|dänisch|danois|danés|danese|dinamarquês|dansk",
    "norwegian": r"norwegian|norwegisch|norvégien|noruego|norvegese|norueguês|norsk",
    "finnish": r"finnish|finnisch|finnois|finlandés|finlandese|finlandês|suomeksi|suomea",
    "greek": r"greek|griechisch|(?<!\w)grec\b|griego|greco|grego|ελληνικά",
    "hungarian": r"hungarian|ungarisch|hongrois|húngaro|ungherese|magyarul",
    "romanian": r"romanian|rumänisch|roumain|rumano|rumeno|romeno|română",
    "hebrew": r"hebrew|hebräisch|hébreu|hebreo|ebraico|hebraico|עברית",
    "vietnamese": r"vietnamese|vietnamesisch|vietnamien|vietnamita|tiếng việt",
    "indonesian": r"indonesian|indonesisch|indonésien|indonesio|indonesiano|bahasa",
    "thai": r"thai(?:ländisch|landais|landés|landese)?\b|tailandês|ภาษาไทย",
    "catalan": r"catalan|katalanisch|catalán|catalano|catalão|català",
}
_LANGUAGE = lazy_pattern(
    "|".join(f"(?P<{name}>(?<![a-zà-ÿа-я])(?:{names}))" for name, names in _LANGUAGE_NAMES.items()), re.IGNORECASE
)
_SPEAKS = lazy_pattern(
    r"\b(?:answer|repl(?:y|ies)|respon[ds]|speak|talk|write|antwort|schreib|sprich|sprech|répon|répond|parle|écri|"
    r"respond|"
    r"contest|habl|escrib|rispond|parl|scriv|fal|escrev)\w*|отвеча\w+|ответ\w*|пиши\w*|говори\w*|回答|回复|写|说|"
    r"交流|答え|返信|"
    r"回答|書い|話し",
    re.IGNORECASE,
)
_ONLY_IN = lazy_pattern(
    r"\b(?:only|everything|exclusively|nur|alles|ausschließlich|uniquement|seulement|tout|s[oó]lo|todo|solamente|"
    r"soltanto|tutto|somente|apenas|tudo)\b|только|вс[её]|只|全部|だけ|のみ",
    re.IGNORECASE,
)
"""Words by which a short sentence orders a language without naming speech: "French only, please"."""
_MAX_WORDS_OF_ONLY_IN = 8
_PART = lazy_pattern(
    r"\b(?:commits?|commit-?\w+|comments?|docstrings?|(?:variable|function|class|file) names?|documentation|readme|"
    r"e-?mails?|letters?|kommentar\w*|\w+namen|doku\w*|commentaires?|noms? de|comentarios?|nombres? de|commenti|"
    r"nomi di|coment[aá]rios?|nomes? de)\b|коммит\w*|комментари\w*|注释|提交信息|コメント|コミット",
    re.IGNORECASE,
)
"""Parts of a work whose language is ordered apart from the language of the answers."""
_SUBJECTS: Final = {
    "emoji": r"emoji|emoticon|smiley|émoji|эмодзи|смайл|表情符号|表情|絵文字",
    "length": r"\b(?:short(?:er)?|brief(?:er)?|concise|terse|succinct|long|(?<!any )(?<!no )longer|length|"
    r"detail(?:ed)?|verbose|kurze?[nr]?|kürzer|knapp(?:er)?|länger\w*|ausführlich\w*|courte?s?|longues?|longuement|bref|"
    r"brèves?|concis|détaill(?:ée?s?|er)|"
    r"extender(?:te|se)?|"
    r"cort[oa]s?|larg[oa]s?|detallad[oa]s?|breves?|brev[ei]|lungh[ei]|dettagliat[oaie]|"
    r"curt[oa]s?|longas?|detalhad[oa]s?)\b|\b(?:\d+|one|two|three|four|five|zwei|drei|vier|fünf|deux|trois|quatre|cinq|dos|tres|cuatro|cinco|"
    r"due|tre|quattro|cinque|dois|três|quatro) "
    r"(?:words?|sentences?|lines?|paragraphs?|wörter|worte|sätze|"
    r"mots|phrases|palabras|frases|parole|frasi|palavras|слов|предложени)"
    r"|\bas (?:many|few) (?:words|sentences|lines) as\b|кратк|коротк|длинн|подробн|长一点|更长|長く|"
    r"字以内|不超过|控制在|最多\d+字|文字以内|簡潔|手短|短く|简短|简洁|一文で",
    "apologies": r"apolog|sorry|entschuldig|excuse|disculp|perdón|scus|desculp|извин|道歉|抱歉|謝",
    "name": r"\b(?:call|address|refer to) me\b|\bnenne? mich\b|\bappelle[sz]?-moi\b|\bll[aá]mame\b|\bchiamami\b|"
    r"\bme chame\b|\bchame-me\b|(?:называй|зови)(?:те)? меня|叫我|呼んで",
    "indentation": r"\b(?:tabs|spaces|indent)\b",
    "units": r"\b(?:metric|imp[eé]ria\w+|celsius|fahrenheit|si units|metrische\w*|métriques?|métric[oa]s?|metric[oa]|"
    r"metriche)\b|метрическ|公制|英制|メートル法",
    "spelling": r"\b(?:american|british|us|uk|u\.s\.|canadian|australian) (?:english|spelling)s?\b"
    r"|\b(?:amerikanische|britische)s? (?:englisch|rechtschreibung|schreibweise)\b"
    r"|\banglais (?:américain|britannique)\b",
    "case": r"\b(?:lower ?-?case|upper ?-?case|all[ -]caps|capital(?:s|i[sz]ation| letters)?|shout(?:ing)?)\b"
    r"|\b(?:klein|groß)(?:schreibung|buchstaben)\b"
    r"|\b(?:majuscules?|minuscules?|mayúsculas?|minúsculas?|maiuscol[eo]|minuscol[eo])\b",
    "naming": r"\b(?:snake[_ -]?case|camel[ _-]?case|pascal[ _-]?case|kebab[ _-]?case)\b",
    "clock": r"\b(?:12|24|twelve|twenty-four)[ -]?(?:hour|h)\b(?: (?:times?|clock|format))?",
    "tone": r"\b(?:in)?formal(?:ly|ity)?\b|\bcasual(?:ly)?\b",
    "address": r"\b(?:duz|siez)(?:e|en|t|st)\b|\b(?:tut|vouv)(?:oie[sz]?|oyer|oyez)\b"
    r"|\btut[eé](?:a|ar|arme|ame|e|es)\b|\bde usted\b"
    r"|\bd(?:ammi|armi|arci) del (?:tu|lei)\b|\bна (?:ты|вы)\b|敬語|タメ口|敬语",
    "lists": r"\b(?:bullet|bullets|bullet[- ]points?|bulleted|numbered lists?|prose)\b",
}
_BY_SUBJECT = {name: lazy_pattern(pattern, re.IGNORECASE) for name, pattern in _SUBJECTS.items()}
_SCOPED = lazy_pattern(
    r"\b(?:when|whenever|if|unless|while|where|before|after|during|except|about|wenn|falls|außer|bei|si|quand|"
    r"lorsque|sauf|cuando|salvo|se|quando|"
    r"если|когда|кроме)\b|的时候|如果|除非|とき|場合",
    re.IGNORECASE,
)
_FORBIDS = lazy_pattern(
    r"\b(?:never|not|no|don['’]?t|stop|avoid|without|zero|skip|nie(?:mals)?|kein\w*|nicht|jamais|pas|plus|sans|ne|"
    r"nunca|jamás|sin|no|mai|non|niente|senza|"
    r"não|jamais|sem|nichts|rien|nada|niente|nulla|ничего|verboten|tabu|unerwünscht|forbidden|banned|prohibited|"
    r"off[- ]limits|interdit\w*|prohibid\w*|vietat\w*|proibid\w*)\b|запрещ|n['’]|"
    r"никогда|\bне\b|\bбез\b|нельзя|不|别|禁止|勿|ない|禁",
    re.IGNORECASE,
)
EMPTY_WORDS: Final = words(
    "always never ever don't do not no must should only please from now on future only said rule make sure want you "
    "immer nie niemals nicht kein keine keinen bitte nur ab jetzt und die der das den dem ein eine auf zu in "
    "toujours jamais pas ne n les le la de du des un une en dans sur plus seulement "
    "siempre nunca no el los las un una en de solo sólo sempre mai non il lo gli i di solo não os as o a em só "
    "apenas "
    "всегда никогда не только в на и more any all again under no circumstances stop avoid without keep every"
)
_WORD = lazy_pattern(r"[^\W_][\w.+#/'’-]*[^\W_]|[^\W_]")
_POLAR = lazy_pattern(
    r"永远|绝对|始终|总是|务必|必须|一律|请|不要|别|不准|不得|禁止|勿|再|了|的|常に|必ず|いつも|絶対に|決して|"
    r"ください|下さい|ないで|して|は|を|に|で|が|も|と|の"
)


def topic_of(sentence: str) -> Topic:
    """The topic of an entry's sentence; a condition ("when I ask about …") makes it a topic of its own."""
    forbids = bool(_FORBIDS.search(sentence))
    if not _SCOPED.search(sentence):
        names = subjects_of(sentence)
        languages = languages_of(sentence) if _orders_language(sentence) else set()
        if not names and len(languages) == 1:
            return Topic("language", languages.pop(), forbids)
        if len(names) == 1 and not languages and len(sentence.split()) <= 16:
            return Topic(names.pop(), "", forbids)
    return topic_of_words(sentence)._replace(forbids=forbids)


def _orders_language(sentence: str) -> bool:
    """Whether a sentence that names a language is about the language of the answers."""
    if _PART.search(sentence):
        return False
    is_short = len(sentence.split()) <= _MAX_WORDS_OF_ONLY_IN
    return bool(_SPEAKS.search(sentence) or (is_short and _ONLY_IN.search(sentence)))


def topic_of_words(sentence: str) -> Topic:
    """The topic of a sentence by its words alone: only a sentence with the same words replaces it."""
    return Topic(f"={_digest(sentence)}")


def subjects_of(sentence: str) -> set[str]:
    """The known subjects that a sentence names, languages apart."""
    return {name for name, pattern in _BY_SUBJECT.items() if pattern.search(sentence)}


def languages_of(sentence: str) -> set[str]:
    """The languages that a sentence names."""
    return {str(found.lastgroup) for found in _LANGUAGE.finditer(sentence)}


def _digest(sentence: str) -> str:
    plain = _POLAR.sub(" ", sentence.casefold().replace("’", "'"))
    content = {stem(word) for word in _WORD.findall(plain) if word not in EMPTY_WORDS and word not in ENGLISH}
    return blake2b(" ".join(sorted(content) or [plain]).encode(), digest_size=10).hexdigest()
