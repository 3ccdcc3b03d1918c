"""The site, which writes the names of the modules that it has loaded to DATA_DIR/modules.json when it is sent SIGUSR2.

`python -m tests.faults.loaded serve …`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path


def write_modules(*_: object) -> None:
    place = Path(os.environ["DATA_DIR"], "modules.json")
    partial = place.with_suffix(".part")
    partial.write_text(json.dumps(sorted(name for name, module in sys.modules.items() if module is not None)))
    partial.rename(place)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR2, write_modules)
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
