from django.urls import path, re_path

from conversations.gateway import views
from conversations.gateway.pass_through import ADDRESSES

urlpatterns = [
    path("v1/chat/completions", views.chat_completions),
    path("v1/messages", views.messages),
    path("v1/messages/count_tokens", views.count_tokens),
    path("v1/responses", views.responses),
    path("v1/responses/compact", views.compact),
    path("v1/responses/input_tokens", views.input_tokens),
    path("v1/responses/<str:id>", views.held_response),
    *(path(f"v1/{address}", views.passed_through, {"address": address}) for address in sorted(ADDRESSES)),
    path("v1/models", views.list_models),
    path("v1/models/<path:name>", views.one_model),
    re_path("", views.nowhere),
]
