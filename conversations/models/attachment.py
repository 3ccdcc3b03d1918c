from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from compression.ids import uuid7


class AttachmentManager(models.Manager["Attachment"]):
    """Attachments in the order of their upload, without their bytes: reading `data` makes another query."""

    def get_queryset(self) -> models.QuerySet[Attachment]:
        return super().get_queryset().defer("data").order_by("created_at", "id")


class Attachment(models.Model):
    """An image, a document or a text file of a message; `message` is null until the message is sent.

    `data` are the bytes of an image; of a document its text is kept, as a text file's. `pages` are a document's pages,
    slides or sheets. The text of a file is part of its message's content: `length` characters from
    the `start`-th on; `data` holds it until the message is stored. `digest` is the SHA-256 of the bytes (hex),
    `tokens` the attachment's share of the message's tokens, by our count.
    """

    class Kind(models.TextChoices):
        IMAGE = "image", "Image"
        TEXT = "text", "Text"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey("Conversation", on_delete=models.CASCADE, related_name="attachments")
    message = models.ForeignKey("Message", on_delete=models.CASCADE, related_name="attachments", null=True, blank=True)
    kind = models.CharField(max_length=16, choices=Kind)
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField()
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    pages = models.PositiveIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField(default=0)
    start = models.PositiveIntegerField(null=True, blank=True)
    length = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    data = models.BinaryField(null=True)

    objects = AttachmentManager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Paste(models.Model):
    """A long text pasted into a message: `length` characters of the message's content from the `start`-th on.

    The composer shows a paste as `[LongText#number]`; models get its full text.
    """

    message = models.ForeignKey("Message", on_delete=models.CASCADE, related_name="pastes")
    number = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    length = models.PositiveIntegerField()

    class Meta:
        ordering = ["start"]

    def __str__(self) -> str:
        return f"[LongText#{self.number}]"
