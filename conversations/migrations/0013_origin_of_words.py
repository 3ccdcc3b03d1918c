"""Where a message's words came from: pastes and files that are stored are noted, older imports are not known."""

from collections import defaultdict
from itertools import batched

from django.db import migrations, models

BATCH = 500


def note_quotations(apps, schema_editor):
    places = defaultdict(set)
    pastes = apps.get_model("conversations", "Paste").objects.values_list("message", "start", "length")
    for message, start, length in pastes.iterator():
        places[message].add((start, length))
    attachments = apps.get_model("conversations", "Attachment").objects
    files = attachments.filter(message__isnull=False, start__isnull=False, length__isnull=False)
    for message, start, length in files.values_list("message", "start", "length").iterator():
        places[message].add((start, length))
    messages = apps.get_model("conversations", "Message").objects
    for ids in batched(places, BATCH):
        rows = list(messages.filter(pk__in=ids).only("pk"))
        for row in rows:
            row.origin = {"quoted": [list(place) for place in sorted(places[row.pk])]}
        messages.bulk_update(rows, ["origin"])


class Migration(migrations.Migration):
    dependencies = [("conversations", "0012_chat_templates_and_token_reports")]

    operations = [
        migrations.AddField("message", "origin", models.JSONField(blank=True, editable=False, null=True)),
        migrations.RunPython(note_quotations, migrations.RunPython.noop, elidable=True),
    ]
