from django.db import migrations


def take_over(apps, schema_editor):
    """Give the permissions and the administration's log of Django's user model to ours."""
    content_types = apps.get_model('contenttypes', 'ContentType').objects.using(schema_editor.connection.alias)
    if not content_types.filter(app_label='conversations', model='user').exists():
        content_types.filter(app_label='auth', model='user').update(app_label='conversations')


class Migration(migrations.Migration):

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('conversations', '0043_shadow_comparisons'),
    ]

    operations = [migrations.RunPython(take_over, migrations.RunPython.noop)]
