from django.urls import path

from chatsite.urls import urlpatterns as pages
from conversations.api import api

urlpatterns = [path("api/", api.urls), *pages]
