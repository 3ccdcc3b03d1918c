"""The services by which people sign in: one of OpenID Connect by its address, and the large ones by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MICROSOFT = "https://login.microsoftonline.com"
ALL_TENANTS = frozenset({"common", "consumers", "organizations"})
PUBLIC_HOSTS = frozenset({"accounts.google.com", "github.com", "gitlab.com"})
"""Hosts at which everybody may have an account: to be signed in there says nothing about who belongs to this site."""


class Service(NamedTuple):
    """`id` is its part of the redirect address; `prefix` begins the names of its settings."""

    id: str
    name: str
    url: str
    client_id: str
    secret: str
    prefix: str

    @property
    def is_public(self) -> bool:
        return urlsplit(self.url).hostname in PUBLIC_HOSTS

    @property
    def is_of_all_tenants(self) -> bool:
        """Whether it is Microsoft's service for the people of every organisation."""
        return self.url.startswith(f"{MICROSOFT}/") and urlsplit(self.url).path.split("/")[1] in ALL_TENANTS


def named(read: Callable[..., Any]) -> Iterator[Service]:
    """The services that `read` finds in the environment: OIDC_URL, and those with a client id."""
    addresses = {
        "github": ("GitHub", read("GITHUB_URL", "https://github.com")),
        "gitlab": ("GitLab", read("GITLAB_URL", "https://gitlab.com")),
        "google": ("Google", "https://accounts.google.com"),
        "microsoft": ("Microsoft", f"{MICROSOFT}/{tenant}/v2.0" if (tenant := read("MICROSOFT_TENANT")) else ""),
    }
    if url := read("OIDC_URL").rstrip("/"):
        client = read("OIDC_CLIENT_ID"), read("OIDC_CLIENT_SECRET")
        yield Service("sso", read("OIDC_NAME", "single sign-on"), url, *client, "OIDC")
    for id, (name, address) in addresses.items():
        if client_id := read(f"{id.upper()}_CLIENT_ID"):
            secret = read(f"{id.upper()}_CLIENT_SECRET")
            yield Service(id, name, address.rstrip("/"), client_id, secret, id.upper())


def providers(services: list[Service]) -> dict[str, Any]:
    """django-allauth's SOCIALACCOUNT_PROVIDERS for these services."""
    own_github = next((one.url for one in services if one.id == "github" and not one.is_public), "")
    apps = {
        service.id: {
            "provider_id": service.id,
            "name": service.name,
            "client_id": service.client_id,
            "secret": service.secret,
            "settings": {"server_url": service.url},
        }
        for service in services
    }
    github = apps.pop("github", None)
    return {
        "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": list(apps.values())},
        "github": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [github] if github else [],
            **({"GITHUB_URL": own_github} if own_github else {}),
        },
    }
