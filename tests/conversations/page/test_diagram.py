"""The page in whose frame diagrams are drawn has no origin, loads nothing, and can be framed by the site alone."""

from __future__ import annotations

import pytest
from django.test import Client

from conversations.models import User
from conversations.page.markup.markdown import render_markdown

pytestmark = pytest.mark.django_db


def test_the_frame_may_run_its_own_scripts_and_nothing_else(client: Client, user: User) -> None:
    assert client.get("/diagram").status_code == 302
    client.force_login(user)
    answer = client.get("/diagram")
    policy = answer["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "sandbox allow-scripts", "frame-ancestors 'self'"):
        assert part in policy
    assert "connect-src" not in policy and answer["X-Frame-Options"] == "SAMEORIGIN"


def test_only_a_diagram_has_the_button_that_draws() -> None:
    assert 'data-code="draw"' in render_markdown("```mermaid\ngraph TD; A-->B\n```")
    assert 'data-code="draw"' not in render_markdown("```python\nx = 1\n```")
