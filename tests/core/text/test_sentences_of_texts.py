"""Where sentences end."""

from __future__ import annotations

import pytest

from compression.core.text.sentences import sentences


@pytest.mark.parametrize(
    "text",
    [
        "Der Umzug ist am 8. März 2024.|Danach kommt der 4. Juni.",
        "Wir fahren vom 3. bis 5. Mai.|Und im 2. Quartal wieder.",
        "Am 3. und 4. Mai ist frei.|Es kostet 5.|Mehr nicht.",
        "I am 30.|i live in Bonn.|There are 3.|Maybe 4.",
        "Die Version ist 1.5.|Mai war sie 1.4.",
    ],
)
def test_a_number_of_a_day_ends_no_sentence(text: str) -> None:
    assert sentences(text.replace("|", " ")) == text.split("|")


@pytest.mark.parametrize(
    "text",
    [
        "Prof. Meier comes at 10 a.m. on Monday with Smith et al. from Acme Inc. in the U.S. market.",
        "See Sec. 3, Eq. 5, pp. 12 and question no. 5 on Jan. 5, e.g. Python.|It weighs 5 lbs. or 3 oz. at most.",
        "Der Preis ist ca. 3 Mio. Euro inkl. MwSt. und Versand, z. B. für Hrn. Dr. Kunz.|Das gilt u.a. in Bonn.",
        "Sie wohnt in der Hauptstr. 12.|Gem. § 12 Abs. 2 ist es evtl. anders.|Vgl. S. 45 und Kap. 3.",
        "Er kommt am 12.3. um acht oder am Mo. 3. Juni.|Ludwig XIV. war König.",
        "M. Dupont et Mme. Leroy sont au 3, av. Foch, art. 5, al. 2.|Elle est née vers l'an 300 av. J.-C. à Rome.",
        "El Sr. García y la Dra. Gil llegan a las 5 p. m. del martes.|EE. UU. es grande.|Ud. tiene razón.",
        "Il Sig. Rossi e l'avv. Gallo a pag. 12 e cap. 3.",
        "O Sr. Silva mora na Av. Paulista, nº. 5, ap. 12.",
        "Он живёт на ул. Ленина, д. 5, кв. 12.|Это стоит 5 млн. руб. за штуку.|Там груши и т. п. вещи.",
        "В 2020 г. мы ждали А. С. Пушкина.|Это было в XIX в. до н. э. в Риме.",
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str) -> None:
    assert sentences(text.replace("|", " ")) == text.split("|")


@pytest.mark.parametrize(
    "text",
    [
        "I like Max.|He is nice.|My name is Ed.|I live in the U.S.|My mother lives in Spain.",
        "I need milk, bread, etc.|My wife buys it at 10 a.m.|Anna does not.|i have no art.|it is late.",
        "The answer is no.|We left.|I chose plan B.|Then we met Al.|Bob came.|Never mind.|Anna stays.",
        "Wir kaufen Milch usw.|Anna zahlt.|Das ist der Max.|Er kommt.|Ich habe 3.|Das ist genug.",
        "Voy al mar.|Ana viene.|È mio.|Anna lo sa.|Elle s'appelle M.|Elle est là.|Es mi cap.|Me gusta.",
        "Мы переехали в 2020 г.|Потом купили дом.|Там груши и т. д.|Потом мы ушли.|Я дал им.|Анна рада.",
        "It was 5 min.|Wait...|Call the Dr.",
    ],
)
def test_a_word_like_an_abbreviation_ends_its_sentence(text: str) -> None:
    assert sentences(text.replace("|", " ")) == text.split("|")
