from django.contrib.auth.views import LogoutView
from django.urls import path

from conversations.health import healthz, readyz
from conversations.views import account, acts, branches, chat, compaction, home, manage, settings

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
    path("c/<uuid:pk>/compactions/<uuid:compaction_id>/summary", compaction.edit_summary, name="edit_summary"),
    path("c/<uuid:pk>/context", settings.context, name="context"),
    path("c/<uuid:pk>/context/mode", settings.mode, name="mode"),
    path("c/<uuid:pk>/context/goal", settings.goal, name="goal"),
    path("c/<uuid:pk>/context/goal/end", settings.end_goal, name="end_goal"),
    path("c/<uuid:pk>/context/goal/step", settings.step, name="step"),
    path("c/<uuid:pk>/context/rules", settings.rules, name="rules"),
    path("c/<uuid:pk>/context/policy", settings.policy, name="policy"),
    path("c/<uuid:pk>/context/snapshots", settings.take_snapshot, name="take_snapshot"),
    path("c/<uuid:pk>/context/restore", settings.restore, name="restore"),
    path("c/<uuid:pk>/messages/<uuid:message_id>/regenerate", branches.regenerate, name="regenerate"),
    path("c/<uuid:pk>/messages/<uuid:message_id>/edit", branches.edit, name="edit"),
    path("c/<uuid:pk>/messages/<uuid:message_id>/fork", branches.fork, name="fork"),
    path("c/<uuid:pk>/fresh", branches.fresh, name="fresh"),
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
    path("readyz", readyz, name="readyz"),
]
