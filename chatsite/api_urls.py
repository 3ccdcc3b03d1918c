from django.urls import path

from chatsite.urls import handler400, handler500
from chatsite.urls import urlpatterns as pages
from conversations.api import api

urlpatterns = [path("api/", api.urls), *pages]
__all__ = ["handler400", "handler500", "urlpatterns"]
