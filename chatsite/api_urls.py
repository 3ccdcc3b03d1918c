from django.urls import path

from chatsite.urls import handler400, handler403, handler404, handler500
from chatsite.urls import urlpatterns as pages
from conversations.api import api
from conversations.page.api_docs import docs

urlpatterns = [path("api/docs", docs), path("api/", api.urls), *pages]
__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
