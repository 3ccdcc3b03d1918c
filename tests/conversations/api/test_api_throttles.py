"""How often a person may ask, and how often an address may guess."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from conversations.errors import TooMany
from conversations.limits import GUESSES_A_MINUTE, note_guess, require_guesses, require_rate
from conversations.models import ApiKey, User
from conversations.models.api_key import digest
from tests.conversations.api_client import Api, refused

pytestmark = pytest.mark.once

ALL = "/api/conversations"


def test_a_person_who_asks_too_often_is_told_when_to_come_back(user: User, settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 5
    response = [Api(user).get(ALL) for _ in range(6)][-1]
    detail = refused(response, 429, "rate_limited")
    assert 1 <= detail["retry_after"] <= 60
    assert response["Retry-After"] == str(detail["retry_after"])
    assert Api(User.objects.create_user("bob")).get(ALL).status_code == 200


def test_as_many_requests_as_the_setting_says_are_answered_and_not_one_more(user: User, settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 5
    api = Api(user)
    assert [api.get(ALL).status_code for _ in range(7)] == [200] * 5 + [429] * 2


def test_as_many_wrong_keys_as_the_limit_says_are_looked_up_and_not_one_more(db: None) -> None:
    client = Client(headers={"Authorization": "Bearer wrong"})
    answers = [client.get(ALL).status_code for _ in range(GUESSES_A_MINUTE + 2)]
    assert answers == [401] * GUESSES_A_MINUTE + [429] * 2


def test_keys_and_sessions_of_one_person_are_counted_together(user: User, settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = 4
    session = Client()
    session.force_login(user)
    clients = [session, Api(user).client, Api(user).client]
    assert [client.get(ALL).status_code for client in clients * 2] == [200] * 4 + [429] * 2


def test_counting_asks_the_database_nothing(user: User, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        require_rate(user.pk)
        require_guesses("192.0.2.7")
        note_guess("192.0.2.7")


def test_an_address_that_guesses_at_keys_is_not_even_looked_up(user: User, django_assert_num_queries: Any) -> None:
    guesser = Client(headers={"authorization": "Bearer cs_wrong"})
    seen = [guesser.get(ALL).status_code for _ in range(GUESSES_A_MINUTE + 1)]
    assert seen == [401] * GUESSES_A_MINUTE + [429]
    with django_assert_num_queries(0):
        response = guesser.get(ALL)
    assert 1 <= refused(response, 429, "rate_limited")["retry_after"] <= 60
    refused(Client(headers={"cookie": "sessionid=" + "x" * 32}).get(ALL), 429, "rate_limited")
    assert Api(user).client.get(ALL, REMOTE_ADDR="192.0.2.8").status_code == 200


def test_whoever_guesses_locks_nobody_out_who_has_a_key_and_the_same_address(user: User) -> None:
    api, revoked = Api(user), Api(user)
    assert [one.get(ALL).status_code for one in (api, revoked)] == [200, 200]
    for _ in range(GUESSES_A_MINUTE):
        note_guess("127.0.0.1")
    ApiKey.objects.filter(hash=digest(revoked.key)).update(revoked_at=timezone.now())
    assert api.get(ALL).status_code == 200
    refused(revoked.get(ALL), 401, "unauthenticated")
    refused(Api(user).get(ALL), 429, "rate_limited")


def test_forgetting_the_key_is_no_guess(db: None) -> None:
    for _ in range(GUESSES_A_MINUTE + 1):
        refused(Client().get(ALL), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "no address", True),
    ],
)
def test_an_address_of_version_6_stands_for_its_network(one: str, other: str, same: bool) -> None:
    for _ in range(GUESSES_A_MINUTE):
        note_guess(one)
    try:
        require_guesses(other)
        assert not same
    except TooMany:
        assert same


def test_without_its_cache_nothing_is_refused(settings: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"redis://127.0.0.1:{closed.getsockname()[1]}/0"
    settings.CACHES = {
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": address,
            "OPTIONS": {"IGNORE_EXCEPTIONS": True, "SOCKET_CONNECT_TIMEOUT": 0.5},
        }
    }
    settings.API_REQUESTS_PER_MINUTE = 1
    for _ in range(3):
        require_rate(1)
        note_guess("192.0.2.7")
        require_guesses("192.0.2.7")
    assert cache.get("anything") is None
