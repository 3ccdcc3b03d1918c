from django.contrib import admin
from django.urls import include, path

from chatsite import metrics

urlpatterns = [
    path("metrics", metrics.view, name="metrics"),
    path("admin/", admin.site.urls),
    path("", include("conversations.urls")),
]
