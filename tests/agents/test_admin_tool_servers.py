"""The administrator's page of a server of tools."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from conversations.admin.tool_server_form import ToolServerForm
from conversations.models import ToolServer, User

pytestmark = pytest.mark.once

LIST = "/admin/conversations/toolserver/"
BAD = f"{sys.executable} {Path(__file__).parent / 'bad_server.py'}"
SECRET = "sekret-123"
OLD = {"name": "echo", "description": "Says it otherwise.", "parameters": {"type": "object"}}


@pytest.fixture
def client(transactional_db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="correct horse battery"))
    return client


@pytest.fixture
def server(transactional_db: None) -> ToolServer:
    return ToolServer.objects.create(name="bad", command=BAD, environment=f"TOKEN={SECRET}", timeout_seconds=5)


@pytest.fixture
def remote(transactional_db: None) -> ToolServer:
    return ToolServer.objects.create(
        name="far", transport="http", url="https://example.com/mcp", headers=f"Authorization={SECRET}"
    )


def posted(server: ToolServer, **changes: Any) -> dict[str, Any]:
    names = ("name", "transport", "command", "url", "timeout_seconds", "max_characters", "enabled", "allowed")
    now = {name: getattr(server, name) for name in names}
    seen = server.looked_at.isoformat() if server.looked_at else ""
    return now | {"environment": "", "headers": "", "seen": seen} | changes


def path_of(server: ToolServer) -> str:
    return f"{LIST}{server.pk}/change/"


def page_after(client: Client, server: ToolServer, **changes: Any) -> str:
    server.refresh_from_db()
    response = client.post(path_of(server), posted(server, **changes), follow=True)
    page = unescape(response.content.decode())
    assert SECRET not in page
    server.refresh_from_db()
    return page


def errors(server: ToolServer, **changes: Any) -> dict[str, list[str]]:
    return dict(ToolServerForm(posted(server, **changes), instance=server).errors)


def test_a_look_stores_what_the_server_offers_and_allows_none_of_it(client: Client, server: ToolServer) -> None:
    page = page_after(client, server, _look="1")
    assert "<b>bad</b> offers 2 tools: echo, silent. Cannot be offered: no good (its name has characters other" in page
    assert [tool["name"] for tool in server.tools] == ["echo", "silent"]
    assert server.allowed == [] and server.looked_at is not None
    assert 'name="allowed" value="echo"' in page and "no description" in page
    page_after(client, server, allowed=["silent"])
    assert server.allowed == ["silent"]
    listed = client.get(LIST).content.decode()
    assert "1 of 2" in listed


def test_what_a_server_tells_otherwise_on_a_new_look_is_not_allowed_any_more(
    client: Client, server: ToolServer
) -> None:
    silent = {"name": "silent", "description": "", "parameters": {"type": "object"}}
    ToolServer.objects.update(tools=[OLD, silent, OLD | {"name": "gone"}], allowed=["echo", "silent", "gone"])
    page = page_after(client, server, _look="1")
    assert "No longer allowed, because their descriptions changed: echo." in page
    assert "No longer there: gone." in page and 'class="warning"' in page
    assert server.allowed == ["silent"]


def test_a_server_that_cannot_be_looked_at_keeps_what_was_agreed_to(client: Client, server: ToolServer) -> None:
    ToolServer.objects.update(tools=[OLD], allowed=["echo"])
    ToolServer.objects.update(command=f"{BAD} exit")
    page = page_after(client, server, _look="1")
    assert "The server bad ended with status 1." in page and 'class="error"' in page
    assert (server.tools, server.allowed) == ([OLD], ["echo"])


def test_several_servers_are_looked_at_by_an_action(client: Client, server: ToolServer) -> None:
    ToolServer.objects.create(name="none", command="/no/such")
    chosen = list(ToolServer.objects.values_list("pk", flat=True))
    response = client.post(LIST, {"action": "look", "_selected_action": chosen}, follow=True)
    page = response.content.decode()
    assert "<b>bad</b> offers 2 tools" in page and "The server none cannot be started" in page


def test_no_program_is_set_up_or_changed_here(client: Client, server: ToolServer) -> None:
    fields = posted(ToolServer(name="new", command=BAD), _look="1", environment="A=b")
    assert "Select a valid choice" in client.post(f"{LIST}add/", fields).content.decode()
    assert not ToolServer.objects.filter(name="new").exists()
    changes = {"command": "rm -rf /", "environment": "PATH=/evil", "transport": "http", "url": "http://a/"}
    page_after(client, server, **changes, forget=[], timeout_seconds=7)
    assert (server.command, server.transport, server.timeout_seconds) == (BAD, "stdio", 7)
    assert server.environment == f"TOKEN={SECRET}"
    page = client.get(path_of(server)).content.decode()
    assert "add_stdio_tool" in page and 'name="command"' in page and page.count(" disabled") >= 3


def test_a_program_is_set_up_by_a_command_and_looked_at_here(client: Client) -> None:
    call_command("add_stdio_tool", "new", "--env", "A=b", "--", *shlex.split(BAD), verbosity=0)
    new = ToolServer.objects.get()
    assert (new.transport, shlex.split(new.command), new.environment) == ("stdio", shlex.split(BAD), "A=b")
    page_after(client, new, _look="1")
    page_after(client, new, allowed=["silent"])
    assert new.allowed == ["silent"]
    call_command("add_stdio_tool", "new", "--", "another")
    new.refresh_from_db()
    assert (new.command, new.allowed, new.tools) == ("another", [], [])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (["Bad", "--", "x"], "name"),
        (["a__b", "--", "x"], "name"),
        (["a", "--env", "TOKEN", "--", "x"], "env"),
    ],
)
def test_the_command_names_what_is_wrong(transactional_db: None, given: list[str], field: str) -> None:
    with pytest.raises(CommandError, match=f"^{field}: "):
        call_command("add_stdio_tool", *given)


def test_headers_go_to_no_other_address_than_they_were_entered_for(client: Client, remote: ToolServer) -> None:
    page = page_after(client, remote, url="https://evil.example/mcp")
    assert "The address is another one" in page
    assert remote.url == "https://example.com/mcp"
    page_after(client, remote, url="https://other.example/mcp", headers="Authorization=new")
    assert (remote.url, remote.headers) == ("https://other.example/mcp", "Authorization=new")
    page_after(client, remote, url="https://third.example/mcp", forget=["headers"])
    assert (remote.url, remote.headers) == ("https://third.example/mcp", "")


def test_what_is_secret_goes_in_and_never_comes_out(
    client: Client, server: ToolServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    page = page_after(client, server, headers=f"Authorization={SECRET}\nX-Other={SECRET}", _look="1")
    assert "Set now: Authorization, X-Other." in page and "Set now: TOKEN." in page
    page_after(client, server, headers=f"Authorization={SECRET}\nbroken {SECRET}")
    assert server.headers == f"Authorization={SECRET}\nX-Other={SECRET}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT environment, headers FROM conversations_toolserver")
        assert SECRET not in str(cursor.fetchall())
    assert SECRET not in caplog.text + json.dumps(list(LogEntry.objects.values_list("change_message", flat=True)))


def test_what_is_secret_stays_until_it_is_replaced_or_forgotten(client: Client, remote: ToolServer) -> None:
    page_after(client, remote)
    assert remote.headers == f"Authorization={SECRET}"
    page_after(client, remote, headers="Other=1")
    assert remote.headers == "Other=1"
    page_after(client, remote, forget=["headers"])
    assert remote.headers == ""


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": ""}, "url"),
        ({"transport": "http", "url": "ftp://example.com"}, "url"),
        ({"transport": "http", "url": "http://"}, "url"),
        ({"transport": "http", "url": "http://a:99999/"}, "url"),
        ({"transport": "http", "url": "http://a b/"}, "url"),
        ({"transport": "http", "url": "http://me:pass@example.com/mcp"}, "url"),
        ({"transport": "nothing"}, "transport"),
        ({"headers": "A B=1"}, "headers"),
        ({"headers": "A=ü"}, "headers"),
        ({"name": "Bad"}, "name"),
        ({"name": "a__b"}, "name"),
        ({"name": "a_"}, "name"),
        ({"name": "a" * 21}, "name"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": 601}, "timeout_seconds"),
        ({"max_characters": 99}, "max_characters"),
        ({"allowed": ["echo"]}, "allowed"),
    ],
)
def test_what_cannot_be_is_refused_where_it_was_written(
    remote: ToolServer, changes: dict[str, Any], field: str
) -> None:
    found = errors(remote, **{"forget": ["headers"] if "url" in changes else []} | changes)
    assert list(found) == [field] and SECRET not in str(found)


@pytest.mark.parametrize("url", ["http://tools:8000/mcp", "https://example.com/mcp?x=1", "http://[::1]:9/"])
def test_an_address_within_a_network_of_ones_own_is_good(remote: ToolServer, url: str) -> None:
    assert errors(remote, url=url, headers="A=b") == {}


def test_what_was_not_read_is_not_allowed(server: ToolServer) -> None:
    ToolServer.objects.update(tools=[OLD], looked_at="2026-01-05T09:00:00Z")
    server.refresh_from_db()
    assert errors(server, allowed=["echo"]) == {}
    assert "listed the server" in str(errors(server, allowed=["echo"], seen=""))


def test_only_superusers_see_that_there_are_servers(client: Client, server: ToolServer) -> None:
    staff = User.objects.create_user("staff", password="correct horse battery", is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    client.force_login(staff)
    assert "toolserver" not in client.get("/admin/").content.decode()
    for path in (LIST, f"{LIST}add/", path_of(server), f"{LIST}{server.pk}/delete/", f"{LIST}{server.pk}/history/"):
        assert client.get(path).status_code == 403, path
    assert client.post(path_of(server), posted(server, command="rm")).status_code == 403


def test_what_a_server_says_is_escaped(client: Client, server: ToolServer) -> None:
    evil = "<script>alert(1)</script>"
    ToolServer.objects.update(tools=[OLD | {"description": evil}])
    assert evil not in client.get(path_of(server)).content.decode()
