from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("compression", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="checkpoint",
            name="birth_tokens",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="checkpoint",
            name="stragglers",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AlterModelOptions(
            name="checkpoint",
            options={"ordering": ["last_message_at", "number"]},
        ),
    ]
