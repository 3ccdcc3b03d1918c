"""The addresses of a site that sends mail."""

from __future__ import annotations

from chatsite.urls import handler400, handler403, handler404, handler500
from chatsite.urls import urlpatterns as without_mail
from conversations.urls import MAIL

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
urlpatterns = [*MAIL, *without_mail]
