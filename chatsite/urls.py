from django.contrib import admin
from django.urls import include, path

from chatsite import metrics
from conversations.admin.analytics import analytics

urlpatterns = [
    path("metrics", metrics.view, name="metrics"),
    path("admin/analytics/", admin.site.admin_view(analytics), name="analytics"),
    path("admin/", admin.site.urls),
    path("", include("conversations.urls")),
]
handler400 = "chatsite.faults.bad_request"
handler500 = "chatsite.faults.server_error"
