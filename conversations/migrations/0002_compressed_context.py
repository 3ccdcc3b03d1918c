"""The compressed context of a conversation, and the comparisons that measure its replies."""

import compression.ids
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('conversations', '0002_compression'),
        ('conversations', '0043_shadow_comparisons'),
    ]

    dependencies = [
        ('compression', '0001_compactions'),
        ('conversations', '0001_conversations'),
    ]

    operations = [
        migrations.CreateModel(
            name='ShadowComparison',
            fields=[
                ('id', models.UUIDField(default=compression.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('model', models.CharField(max_length=200)),
                ('judge', models.CharField(blank=True, max_length=200)),
                ('agreement', models.FloatField()),
                ('sent_tokens', models.PositiveIntegerField()),
                ('full_tokens', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddField(
            model_name='conversation',
            name='compressed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='conversation',
            name='compressed_context',
            field=models.TextField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='conversation',
            name='compressed_tokens',
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name='conversation',
            name='compression_version',
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name='conversation',
            name='verbatim_ids',
            field=models.JSONField(default=list, editable=False),
        ),
        migrations.AddConstraint(
            model_name='conversation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('compressed_at__isnull', True), ('compressed_context__isnull', True)), models.Q(('compressed_at__isnull', False), ('compressed_context__isnull', False)), _connector='OR'), name='compressed_together'),
        ),
        migrations.AddField(
            model_name='shadowcomparison',
            name='compaction',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='compression.compaction'),
        ),
        migrations.AddField(
            model_name='shadowcomparison',
            name='reply',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='conversations.message'),
        ),
    ]
