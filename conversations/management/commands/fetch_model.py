from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from conversations.llm.probes.builtin_download import FetchFailed, install_builtin


class Command(BaseCommand):
    help = "Fetch the built-in model. Where it cannot be had, say so and succeed: the site runs without it."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            install_builtin(self.stdout.write)
        except FetchFailed as reason:
            self.stdout.write(
                f"No built-in model ({reason}). The site runs without it: to connect a model, set OPENAI_API_KEY, "
                "ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL."
            )
