"""The patterns of one language."""

from __future__ import annotations

import re


class Language:
    """The patterns of a language, for a sentence on one line. `refuses`: no order at all, whatever else matches."""

    def __init__(
        self,
        *,
        sure: tuple[str, ...],
        preference: str = "",
        decision: str = "",
        correction: str = "",
        refuses: str = "",
    ) -> None:
        self._sure = [re.compile(pattern, re.IGNORECASE) for pattern in sure]
        self._refuses = re.compile(refuses, re.IGNORECASE) if refuses else None
        noted = {"correction": correction, "preference": preference, "decision": decision}
        self._noted = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in noted.items() if pattern}

    def is_sure_order(self, sentence: str) -> bool:
        if self._refuses and self._refuses.search(sentence):
            return False
        return any(pattern.search(sentence) for pattern in self._sure)

    def kind_of(self, sentence: str) -> str:
        """The kind of an entry that is noted; "" if the sentence is none."""
        return next((kind for kind, pattern in self._noted.items() if pattern.search(sentence)), "")
