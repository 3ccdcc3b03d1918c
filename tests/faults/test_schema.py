"""The whole API under schemathesis: whatever is sent that OpenAPI allows or forbids, what comes back is as it says.

SCHEMA_CASES=500 python -m pytest -q -s tests/faults/test_schema.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.faults.serving import Served, serving
from tests.journeys.site import long_conversation

SHORT = 3
CASES = int(os.environ.get("SCHEMA_CASES", str(SHORT)))
"""Of each operation, phase and way in."""
SEED = "1"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "use_after_free",
    "ensure_resource_availability",
)
"""Not `ignored_auth`: its wrong keys are guesses, and an address may not make many (`test_api_throttles.py`)."""


PHASES = {"key": "examples,coverage,fuzzing,stateful", "session": "fuzzing"}
FEW = {"key": "examples,fuzzing"}
"""The phases and the way in of a short run: `make torture` goes through all of them."""


def test_the_api_is_what_its_schema_says(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    limits = {"API_REQUESTS_PER_MINUTE": "1000000", "MAX_COMPACTIONS_PER_USER": "100"}
    with serving(data, **limits) as served:
        (tmp_path / "openapi.json").write_text(json.dumps(_exact(served.ask("GET", "/api/openapi.json"))))
        (tmp_path / "schemathesis.toml").write_text(_known(served))
        for way, phases in (PHASES if CASES > SHORT else FEW).items():
            print(_run(tmp_path, served, way, phases))


def _run(folder: Path, served: Served, way: str, phases: str) -> str:
    headers = [f"Authorization: Bearer {served.key}"]
    if way == "session":
        token = re.search(r"csrftoken=(\w+)", served.cookie)
        assert token
        headers = [f"Cookie: {served.cookie}", f"X-CSRFToken: {token[1]}"]
    options = {
        "--url": served.site.url,
        "--phases": phases,
        "--checks": ",".join(CHECKS),
        "--max-examples": str(CASES),
        "--seed": SEED,
        "--workers": "2",
        "--generation-database": "none",
        # A stream without an end; it has tests of its own.
        "--exclude-path": "/api/conversations/{conversation_id}/events",
    }
    command = [str(Path(sys.executable).with_name("st")), "--config-file", str(folder / "schemathesis.toml")]
    command += ["run", str(folder / "openapi.json"), "--no-color", *(part for pair in options.items() for part in pair)]
    command += [part for header in headers for part in ("-H", header)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1_800)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def _exact(schema: dict[str, Any]) -> dict[str, Any]:
    """Without `default`, which any status would conform to: those that are left are all that may come."""
    for methods in schema["paths"].values():
        for operation in methods.values():
            del operation["responses"]["default"]
    return schema


def _known(served: Served) -> str:
    """Most requests are about something that is there: conversations with messages, one of them compressed."""
    ids = [
        served.ask("POST", "/api/conversations/import", long_conversation(12))["conversations"][0]["id"]
        for _ in range(3)
    ]
    task = served.ask("POST", f"/api/context/{ids[0]}/compact", {})["task_id"]
    messages = [
        row["id"]
        for id in ids
        for row in served.ask("GET", f"/api/conversations/{id}/messages")["items"]
        if "id" in row
    ]
    known = {"conversation_id": ids, "message_id": messages, "task_id": [task], "number": [1]}
    lists = [f"[dictionaries.{name}]\nvalues = {json.dumps(values)}" for name, values in known.items()]
    bound = [f'"path.{name}" = {{ dictionary = "{name}", probability = 0.8 }}' for name in known]
    return "\n".join([*lists, "[parameters]", *bound, ""])
