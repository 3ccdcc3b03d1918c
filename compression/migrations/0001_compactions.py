"""Compactions, their summaries and snapshots, for the conversations of this site or of another project."""

import compression.ids
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from compression.defaults import after, conversation_model


class Migration(migrations.Migration):

    replaces = [
        ('compression', '0001_initial'),
        ('compression', '0002_checkpoint_ages'),
        ('compression', '0003_templates_and_kept_summaries'),
        ('compression', '0004_prepared'),
        ('compression', '0005_kept_summary_of_a_conversation'),
        ('compression', '0006_checkpoint_by_digest'),
        ('compression', '0007_progress_and_cancelling'),
        ('compression', '0008_request_before_and_after'),
        ('compression', '0009_error_code'),
        ('compression', '0010_checkpoint_facts'),
        ('compression', '0011_checkpoint_citations'),
        ('compression', '0012_active_checkpoints'),
        ('compression', '0013_compaction_prompt'),
    ]

    initial = True

    dependencies = [
        after('0001_conversations'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PromptTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(blank=True, help_text='Empty: every mode without a template of its own.', max_length=16, unique=True)),
                ('text', models.TextField()),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['mode'],
            },
        ),
        migrations.CreateModel(
            name='Compaction',
            fields=[
                ('id', models.UUIDField(default=compression.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('flow', models.CharField(choices=[('chat', 'Chat'), ('planner', 'Planner'), ('executor', 'Executor')], default='chat', max_length=16)),
                ('trigger', models.CharField(choices=[('auto', 'Auto'), ('ahead', 'Ahead'), ('manual', 'Manual'), ('api', 'Api'), ('emergency', 'Emergency')], max_length=16)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('ready', 'Ready'), ('succeeded', 'Succeeded'), ('failed', 'Failed'), ('skipped', 'Skipped'), ('discarded', 'Discarded'), ('cancelled', 'Cancelled'), ('undone', 'Undone')], default='pending', max_length=16)),
                ('stage', models.CharField(blank=True, max_length=32)),
                ('percent', models.PositiveSmallIntegerField(default=0)),
                ('parts', models.PositiveSmallIntegerField(default=0)),
                ('parts_done', models.PositiveSmallIntegerField(default=0)),
                ('eta_ms', models.PositiveIntegerField(editable=False, null=True)),
                ('advanced_at', models.DateTimeField(editable=False, null=True)),
                ('started_at', models.DateTimeField(editable=False, null=True)),
                ('strategy', models.CharField(blank=True, max_length=16)),
                ('summariser', models.CharField(blank=True, max_length=200)),
                ('prompt', models.CharField(blank=True, db_default='', default='', editable=False, max_length=40)),
                ('level', models.PositiveSmallIntegerField(null=True)),
                ('steering', models.JSONField(blank=True, default=dict)),
                ('first_message', models.UUIDField(null=True)),
                ('last_message', models.UUIDField(null=True)),
                ('messages_condensed', models.PositiveIntegerField(default=0)),
                ('pre_tokens', models.PositiveIntegerField(null=True)),
                ('post_tokens', models.PositiveIntegerField(null=True)),
                ('request_before', models.PositiveIntegerField(null=True)),
                ('request_after', models.PositiveIntegerField(null=True)),
                ('reduction_percent', models.FloatField(null=True)),
                ('facts_found', models.PositiveIntegerField(default=0)),
                ('facts_kept', models.PositiveIntegerField(default=0)),
                ('facts_repaired', models.PositiveIntegerField(default=0)),
                ('duration_ms', models.PositiveIntegerField(null=True)),
                ('prompt_tokens', models.PositiveIntegerField(default=0)),
                ('completion_tokens', models.PositiveIntegerField(default=0)),
                ('cached_tokens', models.PositiveIntegerField(default=0)),
                ('cost_usd', models.DecimalField(decimal_places=6, max_digits=12, null=True)),
                ('summary_preview', models.CharField(blank=True, max_length=100)),
                ('steps', models.JSONField(blank=True, default=list)),
                ('prepared', models.JSONField(editable=False, null=True)),
                ('answers', models.JSONField(blank=True, default=list, editable=False)),
                ('error', models.TextField(blank=True)),
                ('error_code', models.CharField(blank=True, db_default='', default='', editable=False, max_length=32)),
                ('lease_token', models.UUIDField(default=compression.ids.uuid7, editable=False)),
                ('lease_expires_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('finished_at', models.DateTimeField(editable=False, null=True)),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='compactions', to=conversation_model())),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['conversation', '-created_at'], name='compaction_by_conversation'), models.Index(fields=['-created_at'], name='compaction_by_date')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ['pending', 'running'])), fields=('conversation',), name='one_active_compaction'), models.UniqueConstraint(condition=models.Q(('status', 'ready')), fields=('conversation',), name='one_ready_compaction')],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.UUIDField(default=compression.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('level', models.PositiveSmallIntegerField()),
                ('age', models.PositiveSmallIntegerField(default=0)),
                ('summary', models.TextField()),
                ('token_count', models.PositiveIntegerField()),
                ('birth_tokens', models.PositiveIntegerField(default=0)),
                ('original_tokens', models.PositiveIntegerField()),
                ('first_message', models.UUIDField()),
                ('last_message', models.UUIDField()),
                ('last_message_at', models.DateTimeField()),
                ('model', models.CharField(blank=True, max_length=200)),
                ('provisional', models.BooleanField(default=False)),
                ('stragglers', models.JSONField(blank=True, default=list)),
                ('facts', models.JSONField(editable=False, null=True)),
                ('citations', models.JSONField(editable=False, null=True)),
                ('digest', models.CharField(max_length=64)),
                ('active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to=conversation_model())),
                ('compaction', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='compression.compaction')),
            ],
            options={
                'ordering': ['last_message_at', 'number'],
                'indexes': [models.Index(fields=['digest'], name='checkpoint_by_digest'), models.Index(condition=models.Q(('active', True)), fields=['conversation', 'original_tokens'], name='active_checkpoint')],
                'constraints': [models.UniqueConstraint(fields=('conversation', 'number'), name='checkpoint_number')],
            },
        ),
        migrations.CreateModel(
            name='KeptSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=64)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('conversation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=conversation_model())),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='kept_summary_by_date')],
                'constraints': [models.UniqueConstraint(fields=('owner', 'key'), name='kept_summary_once')],
            },
        ),
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('id', models.UUIDField(default=compression.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('purpose', models.CharField(choices=[('rollback', 'Rollback'), ('recovery', 'Recovery'), ('emergency', 'Emergency'), ('manual', 'Manual')], max_length=16)),
                ('compressed_context', models.TextField(null=True)),
                ('compressed_tokens', models.PositiveIntegerField(default=0)),
                ('compressed_at', models.DateTimeField(null=True)),
                ('verbatim_ids', models.JSONField(default=list)),
                ('elided', models.JSONField(default=dict)),
                ('goal', models.JSONField(null=True)),
                ('checkpoint_ids', models.JSONField(default=list)),
                ('compaction_ids', models.JSONField(default=list)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('compaction', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to='compression.compaction')),
                ('conversation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to=conversation_model())),
            ],
            options={
                'ordering': ['-created_at'],
                'indexes': [models.Index(fields=['conversation', '-created_at'], name='snapshot_by_conversation')],
            },
        ),
    ]
