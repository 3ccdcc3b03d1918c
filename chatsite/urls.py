from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.views.generic import RedirectView

from chatsite import metrics
from conversations.admin.analytics import analytics
from conversations.admin.overview import overview, site_page
from conversations.page.views import account

urlpatterns = [
    path("metrics", metrics.view, name="metrics"),
    path("admin/login/", account.admin_sign_in),
    path("admin/", admin.site.admin_view(overview), name="overview"),
    path("admin/site/", admin.site.admin_view(site_page), name="admin_site"),
    path("admin/analytics/", admin.site.admin_view(analytics), name="analytics"),
    path("admin/", admin.site.urls),
    # The admin's pages name no icon, so browsers request this one.
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg"))),
    path("", include("conversations.urls")),
]
handler400 = "chatsite.error_views.bad_request"
handler403 = "chatsite.error_views.forbidden"
handler404 = "chatsite.error_views.not_found"
handler500 = "chatsite.error_views.server_error"
