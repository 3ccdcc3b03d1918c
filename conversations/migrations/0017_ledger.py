"""The ledger of a conversation; the rules that are in force before it become entries without a message."""

from datetime import timedelta
from itertools import batched

import compression.ids
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.migrations.state import StateApps

from compression.core.ledger.topics import topic_of

BATCH = 500
TICK = timedelta(microseconds=1)


def enter_rules(apps: StateApps, schema_editor: object) -> None:
    conversations = apps.get_model("conversations", "Conversation").objects
    entries = apps.get_model("conversations", "LedgerEntry").objects
    rows = conversations.exclude(rules=[]).values_list("pk", "rules", "created_at")
    for batch in batched(rows.iterator(chunk_size=BATCH), BATCH):
        entries.bulk_create(
            entries.model(
                conversation_id=conversation_id,
                text=text,
                state="in_force",
                chosen_state="in_force",
                topic=(topic := topic_of(text)).name,
                value=topic.value,
                forbids=topic.forbids,
                said_at=created_at + number * TICK,
                decided_at=created_at + number * TICK,
            )
            for conversation_id, rules, created_at in batch
            for number, text in enumerate(rules)
        )


class Migration(migrations.Migration):

    dependencies = [
        ('conversations', '0016_error_codes'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='noted',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, editable=False),
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.UUIDField(default=compression.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('rule', 'Rule'), ('preference', 'Preference'), ('decision', 'Decision'), ('correction', 'Correction')], default='rule', max_length=12)),
                ('text', models.TextField()),
                ('state', models.CharField(choices=[('in_force', 'In force'), ('noted', 'Noted'), ('dismissed', 'Dismissed'), ('superseded', 'Superseded')], max_length=12)),
                ('chosen_state', models.CharField(choices=[('in_force', 'In force'), ('noted', 'Noted'), ('dismissed', 'Dismissed'), ('superseded', 'Superseded')], max_length=12)),
                ('is_chosen', models.BooleanField(default=False)),
                ('superseded_by', models.UUIDField(blank=True, editable=False, null=True)),
                ('topic', models.CharField(max_length=32)),
                ('value', models.CharField(blank=True, max_length=32)),
                ('forbids', models.BooleanField(default=False)),
                ('message', models.UUIDField(blank=True, editable=False, null=True)),
                ('said_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('decided_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('is_withdrawn', models.BooleanField(default=False)),
                ('history', models.JSONField(default=list, editable=False)),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='ledger', to='conversations.conversation')),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'ordering': ['-said_at', '-id'],
                'indexes': [models.Index(fields=['conversation', 'state', '-said_at'], name='ledger_by_state'), models.Index(condition=models.Q(('is_withdrawn', False)), fields=['conversation', 'topic'], name='ledger_by_topic'), models.Index(fields=['conversation', 'message'], name='ledger_by_message')],
            },
        ),
        migrations.RunPython(enter_rules, migrations.RunPython.noop, elidable=True),
    ]
