"""Speakers: the people whose own messages a question is likely about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from compression.core.text.index_terms import index_terms
from compression.core.text.stopwords import words

Speaks = Callable[[str, str], bool]
"""Whether a message with this role and speaker's name counts as the words of one of them."""

FIRST_PERSON = words(
    "i me my mine we us our ours ich mir mich mein meine meinen meinem meiner meines wir uns unser unsere unseren "
    "je j moi mon ma mes nous notre nos yo mi mis nosotros nosotras nuestro nuestra nuestros nuestras "
    "io mio mia miei mie noi nostro nostra nostri nostre eu meu minha meus minhas nosso nossa nossos nossas "
    "я мне меня мой моя моё мои моих мы нам нас наш наша наше наши ik mij mijn wij ons onze mój moja moje "
    "我 私 僕 俺"
)
SECOND_PERSON = words(
    "you your yours yourself du dir dich dein deine deinen deinem deiner tu te toi ton vous votre vos "
    "tú ti usted ustedes voi vostro vostra você vocês ты тебе тебя твой твоя твои вы вам вас ваш ваша ваши "
    "你 您 あなた jij jou jouw ty ciebie twój twoja"
)
_FORMAL = re.compile(r"(?<=\w )(?:Sie|Ihnen|Ihr(?:e[nmrs]?)?)\b")
"""The German formal "you", which begins with a capital within a sentence."""
_WORD = re.compile(r"[我私僕俺你您]|あなた|[^\W\d_]+?(?=[我私僕俺你您]|あなた|[\W\d_]|$)")


def speakers_asked_about(question: str, names: Iterable[str]) -> Speaks:
    """Find out whose words a question is about: those of the speakers that it names, or else of the person who asks.

    It is about nobody's in particular if it only addresses the assistant ("what did you propose?"). `names` are those
    of the speakers whose messages may answer; the person who asks has none.
    """
    terms = set(index_terms(question))
    if named := {name for name in names if not terms.isdisjoint(index_terms(name))}:
        return lambda role, name: name in named
    said = frozenset(_WORD.findall(question.casefold()))
    addresses = not said.isdisjoint(SECOND_PERSON) or _FORMAL.search(question)
    if addresses and said.isdisjoint(FIRST_PERSON):
        return lambda role, name: False
    return lambda role, name: role == "user" and not name
