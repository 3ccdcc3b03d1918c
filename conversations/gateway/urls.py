from django.urls import path, re_path

from conversations.gateway import endpoint

urlpatterns = [
    path("v1/chat/completions", endpoint.chat_completions),
    path("v1/models", endpoint.list_models),
    path("v1/models/<path:name>", endpoint.one_model),
    re_path("", endpoint.nowhere),
]
