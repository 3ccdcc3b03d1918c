"""What every route has in common: who may ask, what a body may be, and how a refusal looks."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from conversations.models import ApiKey, Conversation, User
from tests.conversations.api_client import JSON, Api, refused

pytestmark = pytest.mark.once

ALL = "/api/conversations"
NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def api(user: User) -> Api:
    return Api(user)


@pytest.fixture
def row(user: User) -> Conversation:
    return Conversation.objects.create(owner=user, title="Ports")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "body: must be a JSON object"),
        (b"{", "not valid JSON"),
        (b"[]", "body: must be a JSON object"),
        (b"null", "body: must be a JSON object"),
        (b'"text"', "body: must be a JSON object"),
        (b"[" * 10_000 + b"]" * 10_000, "nested too deeply"),
        (b'{"title": ' + b'{"a": ' * 10_000 + b"1" + b"}" * 10_001, "nested too deeply"),
        (b'{"title": "a", "title": "b"}', "the key 'title' appears twice"),
        (b'{"title": NaN}', "NaN is no number"),
        (b'{"title": -Infinity}', "-Infinity is no number"),
        (b'{"title": 1e999}', "1e999 is too large"),
        (b'{"title": ' + b"9" * 5_000 + b"}", "not valid JSON"),
        (b'{"title": "\xff"}', "not UTF-8"),
        (b'{"title": "\\ud800"}', "title: contains half a character"),
        (b'{"title": "a\\u0000b"}', "title: must not contain a NUL"),
        (b'{"title": 3}', "title: "),
        (b'{"colour": "red"}', "colour: there is no such field"),
    ],
)
def test_a_body_that_is_no_plain_object_of_known_fields_is_refused(api: Api, body: bytes, message: str) -> None:
    assert message in refused(api.send("POST", ALL, body), 400, "invalid")["message"]
    assert not Conversation.objects.exists()


def test_a_byte_order_mark_is_no_part_of_a_body(api: Api) -> None:
    assert api.send("POST", ALL, b'\xef\xbb\xbf{"title": "a"}').json()["title"] == "a"


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd, gzip"])
def test_a_compressed_body_is_415(api: Api, encoding: str) -> None:
    sent = api.client.generic(
        "POST", ALL, gzip.compress(b"{}"), content_type="application/json", headers={"Content-Encoding": encoding}
    )
    assert encoding in refused(sent, 415, "unsupported_media_type")["message"]


def test_a_number_that_is_none_is_named(api: Api) -> None:
    assert refused(api.get(f"{ALL}?limit=x"), 400, "invalid")["message"] == "limit: must be a whole number."


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_415(api: Api, content_type: str) -> None:
    refused(api.send("POST", ALL, b"{}", content_type), 415, "unsupported_media_type")
    refused(api.send("POST", f"{ALL}/import", b"{}", content_type), 415, "unsupported_media_type")


@pytest.mark.parametrize("path", [ALL, f"{ALL}/import"])
def test_a_body_over_the_limit_is_413(api: Api, settings: Any, path: str) -> None:
    body = b'{"title": "' + b"x" * settings.MAX_BODY_BYTES + b'"}'
    refused(api.send("POST", path, body), 413, "body_too_large")


@pytest.mark.parametrize(
    "path", ["/api/", "/api/nothing", f"{ALL}/", f"{ALL}/7", f"{ALL}/{NOBODY}", f"/api/tasks/{NOBODY}/progress"]
)
def test_what_is_not_there_is_404_in_the_same_shape(api: Api, path: str) -> None:
    refused(api.get(path), 404, "not_found")


@pytest.mark.parametrize("address", ["/api/nothing", f"{ALL}/{NOBODY}/compress", f"/api/{'x' * 300}"])
def test_a_wrong_address_is_named_with_the_list_of_all(api: Api, address: str) -> None:
    response = api.post(address, {})
    refused(response, 404, "not_found")
    expected = f"There is no address {address[:200]}: /api/docs lists those of the API."
    assert response.json()["error"]["message"] == expected


def test_head_is_answered_where_get_is(api: Api) -> None:
    response = api.send("HEAD", ALL, b"")
    assert (response.status_code, response["Content-Type"]) == (200, "application/json; charset=utf-8")
    refused(api.send("HEAD", f"{ALL}/{NOBODY}/stop", b""), 405, "method_not_allowed")


def test_a_wrong_method_is_405_and_says_which_are_right(api: Api) -> None:
    response = api.send("PUT", ALL, b"{}")
    refused(response, 405, "method_not_allowed")
    assert response["Allow"] == "GET, POST"


def test_another_persons_objects_do_not_exist(api: Api) -> None:
    eve = User.objects.create_user("eve")
    row = Conversation.objects.create(owner=eve, title="secret")
    asked = [api.get(f"{ALL}/{row.pk}{part}") for part in ("", "/messages", "/context", "/export")]
    asked += [api.get(f"/api/context/{row.pk}/{part}") for part in ("compactions", "snapshots")]
    asked += [api.post(f"{ALL}/{row.pk}/messages", {"content": "hi"}), api.post(f"{ALL}/{row.pk}/stop")]
    asked += [api.post(f"/api/context/{row.pk}/{act}") for act in ("compact", "rollback")]
    asked += [api.patch(f"{ALL}/{row.pk}", {"title": "mine"}), api.send("DELETE", f"{ALL}/{row.pk}", b"")]
    for response in asked:
        refused(response, 404, "not_found")
    assert api.get(ALL).json()["items"] == []
    assert Conversation.objects.get().title == "secret"


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer ", "Bearer", "Basic YTpi", None])
def test_without_a_valid_key_it_is_401(user: User, header: str | None) -> None:
    response = Client(headers={"authorization": header} if header else {}).get(ALL)
    refused(response, 401, "unauthenticated")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_wrong_key_is_refused_even_with_a_session(user: User) -> None:
    client = Client(headers={"authorization": "Bearer wrong"})
    client.force_login(user)
    refused(client.get(ALL), 401, "unauthenticated")


def test_the_key_of_a_person_who_is_switched_off_opens_nothing(api: Api, user: User) -> None:
    User.objects.update(is_active=False)
    refused(api.get(ALL), 401, "unauthenticated")


def test_a_session_reads_without_and_writes_only_with_its_csrf_token(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.get(ALL).status_code == 200
    refused(client.post(ALL, "{}", content_type=JSON), 403, "forbidden")

    token = "a" * 32
    client.cookies["csrftoken"] = token
    assert client.post(ALL, "{}", content_type=JSON, headers={"x-csrftoken": token}).status_code == 201
    form = {"csrfmiddlewaretoken": token}
    refused(client.post(ALL, form, headers={"x-csrftoken": token}), 415, "unsupported_media_type")


def test_a_key_needs_no_csrf_token(api: Api) -> None:
    client = Client(enforce_csrf_checks=True, headers=api.headers)
    assert client.post(ALL, "{}", content_type=JSON).status_code == 201


def test_the_use_of_a_key_is_noted_at_most_once_a_minute(api: Api, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3):
        api.get(ALL)
    noted = ApiKey.objects.get().last_used
    assert noted
    with django_assert_num_queries(2):
        api.get(ALL)
    assert ApiKey.objects.get().last_used == noted

    ApiKey.objects.update(last_used=timezone.now() - timedelta(seconds=61))
    api.get(ALL)
    assert ApiKey.objects.get().last_used >= noted


def test_a_bug_is_500_without_a_trace_of_the_code(api: Api, row: Conversation, caplog: Any) -> None:
    Conversation.objects.update(compressed_context="x", compressed_at=timezone.now(), verbatim_ids="no list")
    response = api.get(f"{ALL}/{row.pk}/context")
    refused(response, 500, "internal")
    assert b"Traceback" not in response.content
    assert "failed" in caplog.text


@pytest.mark.parametrize("cursor", ["-1", str(2**63), "garbage", "é", "%00", "x" * 300, "LTk5OTk5OTk5OTk5OTk5OTk5IDA"])
@pytest.mark.parametrize("part", ["", "/{}/messages", "compactions"])
def test_a_cursor_that_is_not_ours_is_400(api: Api, row: Conversation, cursor: str, part: str) -> None:
    path = f"/api/context/{row.pk}/{part}" if part == "compactions" else ALL + part.format(row.pk)
    assert "cursor" in refused(api.get(path, cursor=cursor), 400, "invalid")["message"]


def test_a_cursor_of_another_list_is_400(api: Api, row: Conversation) -> None:
    row.messages.create(role="user", content="a", created_at=timezone.now())
    row.messages.create(role="user", content="b", created_at=timezone.now())
    cursor = api.get(f"{ALL}/{row.pk}/messages", limit=1).json()["next"]
    assert refused(api.get(ALL, cursor=cursor), 400, "invalid")["field"] == "cursor"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"limit": "201"}, "limit: must be at most 200."),
        ({"limit": "0"}, "limit: must be at least 1."),
        ({"by": "year"}, "by: must be one of day, model."),
        ({"by": "{0}"}, "by: must be one of day, model."),
    ],
)
def test_a_field_that_may_not_be_so_is_told_in_plain_words(api: Api, asked: dict[str, str], message: str) -> None:
    path = "/api/usage" if "by" in asked else ALL
    assert refused(api.get(path, **asked), 400, "invalid")["message"] == message


@pytest.mark.parametrize("limit", ["0", "-1", "201", str(2**63), "1.5", "many", ""])
def test_a_limit_outside_1_to_200_is_400(api: Api, limit: str) -> None:
    assert refused(api.get(ALL, limit=limit), 400, "invalid")["field"] == "limit"


def test_healthz_asks_for_no_key(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
