from itertools import pairwise

from django.db import migrations, models


def number_versions(apps, schema_editor):
    """What was replaced before messages knew their version: the first of what a message replaced was in its place."""
    Message = apps.get_model("conversations", "Message")
    replaced = Message.objects.filter(replaced_by__isnull=False).order_by("conversation_id", "created_at")
    before = {}
    for id, by in replaced.values_list("id", "replaced_by_id").iterator():
        before.setdefault(by, id)
    said = set(replaced.exclude(content="").values_list("id", flat=True).iterator())
    for last in before.keys() - set(before.values()):
        chain = [last]
        while chain[-1] in before:
            chain.append(before[chain[-1]])
        place, number = chain[-1], 1
        for newer, older in reversed(list(pairwise(chain))):
            number += older in said
            Message.objects.filter(id=newer).update(place=place, version=number, versions=number)


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0007_attachments_and_preferences"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="place",
            field=models.UUIDField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="version",
            field=models.PositiveIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="versions",
            field=models.PositiveIntegerField(blank=True, editable=False, null=True),
        ),
        migrations.RunPython(number_versions, migrations.RunPython.noop, elidable=True),
    ]
