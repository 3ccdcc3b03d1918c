from django.contrib.auth.views import LogoutView
from django.urls import path

from conversations.health import healthz
from conversations.views import account, acts, chat, compaction, home, manage

urlpatterns = [
    path("", home.home, name="home"),
    path("setup/", account.setup, name="setup"),
    path("accounts/login/", account.SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    path("import", manage.import_, name="import"),
    path("c/new", home.new, name="new"),
    path("c/<uuid:pk>/", chat.chat, name="chat"),
    path("c/<uuid:pk>/thread", chat.thread, name="thread"),
    path("c/<uuid:pk>/status", chat.status, name="status"),
    path("c/<uuid:pk>/messages/<uuid:message_id>", chat.message, name="message"),
    path("c/<uuid:pk>/compactions/<uuid:compaction_id>", compaction.compaction, name="compaction"),
    path("c/<uuid:pk>/send", acts.send, name="send"),
    path("c/<uuid:pk>/stop", acts.stop, name="stop"),
    path("c/<uuid:pk>/retry/<uuid:message_id>", acts.retry, name="retry"),
    path("c/<uuid:pk>/protect/<uuid:message_id>", acts.protect, name="protect"),
    path("c/<uuid:pk>/compact", acts.compact, name="compact"),
    path("c/<uuid:pk>/undo/<uuid:compaction_id>", acts.undo, name="undo"),
    path("c/<uuid:pk>/rename", manage.rename, name="rename"),
    path("c/<uuid:pk>/delete", manage.delete, name="delete"),
    path("c/<uuid:pk>/export", manage.export, name="export"),
    path("healthz", healthz, name="healthz"),
]
