"""The command `chatsite` of an installed package: serves the site, or carries out a command such as `backup`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Serve without arguments; options alone are those of `serve`; else the first argument is a command's name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    given = sys.argv[1:]
    is_serve = not given or (given[0].startswith("-") and given[0] not in ("-h", "--help", "--version"))
    try:
        execute_from_command_line([sys.argv[0], *(["serve"] if is_serve else []), *given])
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")


if __name__ == "__main__":
    main()
