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
