"""`compose.yaml` and `Dockerfile`: what they say, and that it works, as far as a machine without Docker can tell.

Their commands are run by `tests.cluster`, with real servers.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import Cluster, command_of
from tests.journeys.site import ROOT
from tests.servers import free_port, listens, postgres, redis, wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("web", "worker", "beat", "migrate")
LASTING = [name for name in SERVICES if name != "migrate"]
DOCKERFILE = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text())
FINAL = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
"""The stage that the image is made of."""
SECRET = re.compile("KEY|PASSWORD|SECRET|TOKEN")
HEADERS = {"X-Forwarded-Proto": "https", "Host": "chat.example.org"}


def said(instruction: str, stage: str = FINAL) -> list[str]:
    return re.findall(rf"^ *{instruction} (.*)$", stage, re.MULTILINE)


def copied() -> dict[str, str]:
    """What the image holds of the checkout: paths there, and where they go to."""
    found: dict[str, str] = {}
    for line in said("COPY"):
        *sources, target = shlex.split(line)
        if not sources[0].startswith("--"):
            found |= dict.fromkeys(sources, target)
    return found


def settings_read() -> set[str]:
    """Every variable that chatsite/settings.py reads."""
    tree = ast.parse((ROOT / "chatsite" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return {
        call.args[0].value
        for call in calls
        if call.func.id in ("read", "switch", "listed") and isinstance(call.args[0], ast.Constant)  # type: ignore[attr-defined]
    }


def example() -> dict[str, str]:
    """Of `.env.example`, with what is commented out."""
    lines = (ROOT / ".env.example").read_text().splitlines()
    return {name: value for line in lines for name, value in re.findall(r"^(?:# )?([A-Z_]+)=(.*)$", line)}


def test_everything_that_a_site_of_many_processes_needs_is_a_service() -> None:
    assert set(SERVICES) == {*OURS, "db", "redis"}
    assert all(SERVICES[name]["restart"] == "unless-stopped" for name in LASTING)
    for name in ("web", "worker", "beat"):
        needs = {needed: how["condition"] for needed, how in SERVICES[name]["depends_on"].items()}
        assert needs == {
            "db": "service_healthy", "redis": "service_healthy", "migrate": "service_completed_successfully"
        }  # fmt: skip


def test_the_image_and_the_cluster_run_what_compose_says() -> None:
    assert json.loads(said("CMD")[-1]) == SERVICES["web"]["command"]
    cluster = Cluster(Path(), database_url="", redis_url="", llm_url="", webs=1, workers=1)
    for name, service in (("web0", "web"), ("worker0", "worker"), ("beat", "beat")):
        command = command_of(service)
        assert Path(command[0]).is_file()
        assert cluster._command(name)[: len(command)] == command


def test_no_process_of_the_site_is_root_or_writes_where_it_should_not() -> None:
    [user] = said("USER")
    assert int(user.split(":")[0]) > 0
    for name in OURS:
        assert "user" not in SERVICES[name]
    assert (SERVICES["db"]["user"], SERVICES["redis"]["user"]) == ("postgres", "redis")
    for service in SERVICES.values():
        assert "privileged" not in service
        assert "cap_add" not in service
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_so_much_memory_and_so_many_processes(name: str) -> None:
    service = SERVICES[name]
    assert re.fullmatch(r"(\$\{WEB_MEMORY:-)?\d+[mg]\}?", service["mem_limit"])
    assert re.fullmatch(r"1|\$\{WEB_CPUS:-2\}", str(service["cpus"]))
    assert 0 < service["pids_limit"] <= 1024
    tmpfs = service["tmpfs"]
    for mount in [tmpfs] if isinstance(tmpfs, str) else tmpfs:
        assert re.fullmatch(r"/[a-z/]+:size=\d+m,mode=1777", mount)


def test_redis_has_room_for_what_it_may_hold_and_the_database_for_its_connections() -> None:
    command = SERVICES["redis"]["command"]
    holds = int(command[command.index("--maxmemory") + 1].removesuffix("mb"))
    assert int(SERVICES["redis"]["mem_limit"].removesuffix("m")) >= 2 * holds
    [connections] = re.findall(r"max_connections=(\d+)", " ".join(SERVICES["db"]["command"]))
    assert SERVICES["db"]["pids_limit"] > int(connections) + 50


def test_every_address_of_redis_has_the_password() -> None:
    for name in ("web", "worker", "beat"):
        for variable in ("REDIS_URL", "CELERY_BROKER_URL"):
            address = SERVICES[name]["environment"][variable]
            assert address.startswith("redis://:${REDIS_PASSWORD:?set it in .env}@redis:")


def test_nothing_is_of_whatever_version_is_the_latest() -> None:
    images = [service["image"] for service in SERVICES.values()] + [
        line.split()[0] for line in said("FROM", "\n" + DOCKERFILE)
    ]
    assert len(images) == len(SERVICES) + 2
    for image in images:
        if not image.startswith("chatsite:"):  # built here, from the file beside it
            assert re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?[a-z0-9.-]*@sha256:[0-9a-f]{64}", image)


def test_the_database_and_redis_are_reached_by_their_clients_alone() -> None:
    inside = {name for name, network in COMPOSE["networks"].items() if network and network["internal"]}
    assert {name: set(SERVICES[name]["networks"]) - inside for name in SERVICES} == {
        "web": {"outside"}, "worker": {"outside"}, "beat": set(), "migrate": set(), "db": set(), "redis": set()
    }  # fmt: skip
    for name, service in SERVICES.items():
        needs = {"db": "database", "redis": "redis"}
        assert {needs[needed] for needed in service.get("depends_on", {}) if needed in needs} <= set(
            service["networks"]
        ), name
    assert not set(SERVICES["db"]["networks"]) & set(SERVICES["redis"]["networks"])


def test_each_service_knows_the_secrets_that_it_uses() -> None:
    """`.env` holds models' keys, so that only services that talk to models read it."""
    assert {name for name in SERVICES if "env_file" in SERVICES[name]} == {"web", "worker"}
    used = {
        name: set(re.findall(r"\$\{(\w*(?:KEY|PASSWORD))", str(SERVICES[name]["environment"]))) for name in SERVICES
    }
    assert used["migrate"] == {"SECRET_KEY", "POSTGRES_PASSWORD"}
    assert (used["db"], used["redis"]) == ({"POSTGRES_PASSWORD"}, {"REDIS_PASSWORD"})


@pytest.mark.long
def test_the_migration_needs_nothing_but_its_own_environment(tmp_path: Path) -> None:
    with postgres() as database_url:
        own = SERVICES["migrate"]["environment"]
        environment = {"PATH": os.environ["PATH"], **own, "DATABASE_URL": database_url, "DATA_DIR": str(tmp_path)}
        environment["SECRET_KEY"] = "k" * 40
        command = [sys.executable, *SERVICES["migrate"]["command"][1:], "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)


def test_whatever_lasts_has_a_health_check() -> None:
    for name in LASTING:
        assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    [check] = re.findall(r"^HEALTHCHECK .* CMD (.*)$", FINAL, re.MULTILINE)
    assert json.loads(check) == SERVICES["web"]["healthcheck"]["test"][1:]


def test_secrets_come_from_env_alone() -> None:
    text = (ROOT / "compose.yaml").read_text()
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD"):
        uses = re.findall(rf"\$\{{{name}\b[^}}]*\}}", text)
        assert uses
        assert all(use.startswith(f"${{{name}:?") for use in uses)
    for service in SERVICES.values():
        assert not SECRET.search(" ".join(service.get("command", [])))
    assert not any(SECRET.search(line) for line in said("(?:ENV|ARG)", DOCKERFILE))
    assert {name: value for name, value in example().items() if SECRET.search(name) and value} == {}
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


def test_every_variable_is_one_that_is_read() -> None:
    known = settings_read()
    assert "DATABASE_URL" in known
    for name in OURS:
        assert set(SERVICES[name]["environment"]) <= known
    of_compose = set(re.findall(r"\$\{([A-Z_]+)", (ROOT / "compose.yaml").read_text()))
    assert of_compose <= set(example())
    assert set(example()) <= known | of_compose


def test_a_process_is_given_longer_to_stop_than_it_takes() -> None:
    from django.conf import settings

    command = SERVICES["web"]["command"]
    requests = int(command[command.index("--timeout-graceful-shutdown") + 1])
    for name in ("web", "worker", "beat"):
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > settings.STOP_GRACE_SECONDS + requests + 10


def test_nothing_gets_into_the_image_but_what_is_copied() -> None:
    first, *others = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert first == "*"
    assert {line[1:] for line in others if line.startswith("!")} == {*copied(), "requirements.lock"}
    assert {"tests", "var", ".git", ".env", ".", "benchmarks"}.isdisjoint(copied())


def test_the_page_about_it_says_what_is_so() -> None:
    from django.conf import settings

    text = (ROOT / "docs" / "operations.md").read_text()
    by_hand = re.findall(r"^\.venv/bin/((?:uvicorn|celery) .*) &$", text.replace("\\\n", ""), re.MULTILINE)
    assert sorted(sorted(command) for command in map(shlex.split, by_hand)) == sorted(
        sorted(set(SERVICES[name]["command"]) - {"--host", "0.0.0.0", "--no-access-log"})
        for name in ("beat", "worker", "web")
    )
    settings_page = (ROOT / "docs" / "settings.md").read_text()
    numbers = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", settings_page, re.MULTILINE)
    assert len(numbers) == 9
    assert {name: getattr(settings, name) for name, _ in numbers} == {name: float(value) for name, value in numbers}


def test_docker_itself_takes_the_file(tmp_path: Path) -> None:
    asked = ["docker", "compose", "version"]
    if not shutil.which("docker") or subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("NOT TESTED: no docker compose on this machine")
    shutil.copy(ROOT / "compose.yaml", tmp_path)
    check = ["docker", "compose", "config", "--quiet"]
    without = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
    assert without.returncode != 0
    (tmp_path / ".env").write_text("SECRET_KEY=k\nPOSTGRES_PASSWORD=p\nREDIS_PASSWORD=r\n")
    subprocess.run(check, cwd=tmp_path, check=True)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a site that has what the image has, behind a proxy that speaks TLS."""
    image, data, port = tmp_path_factory.mktemp("image"), tmp_path_factory.mktemp("data"), free_port()
    for source, target in copied().items():
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, image / target)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = kept | {
        "PYTHONDONTWRITEBYTECODE": "1", "DATA_DIR": str(data), "BEHIND_TLS": "true",
        "ALLOWED_HOSTS": "127.0.0.1,chat.example.org",
    }  # fmt: skip
    migrate = [sys.executable, *SERVICES["migrate"]["command"][1:], "--verbosity", "0"]
    subprocess.run(migrate, cwd=image, env=environment, check=True)
    command = [*command_of("web"), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, cwd=image, env=environment)
    try:
        wait_until(lambda: listens(port), what="the image's site")
        yield port
        assert not list(image.rglob("*.sqlite3")), "what is written belongs into DATA_DIR"
    finally:
        process.terminate()
        process.wait(30)


def fetched(port: int, path: str, **headers: str) -> HTTPResponse:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=10)
    return answer


@pytest.mark.long
def test_what_the_image_holds_is_a_whole_site(served: int) -> None:
    page = fetched(served, "/setup/", **HEADERS).read().decode()
    for asset in set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page)):
        assert fetched(served, asset, **HEADERS).status == 200
    assert "/static/chat.css" in page
    assert well(f"http://127.0.0.1:{served}/healthz")
    assert not well(f"http://127.0.0.1:{served}/nothing")


def test_behind_tls_cookies_are_secure_and_forms_of_the_site_are_its_own(served: int) -> None:
    page = fetched(served, "/setup/", **HEADERS)
    cookies = page.headers.get_all("Set-Cookie") or []
    assert cookies
    assert all("Secure" in cookie for cookie in cookies)
    [token] = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
    sent = HEADERS | {"Origin": "https://chat.example.org", "Cookie": cookies[0].split(";")[0]}
    form = f"csrfmiddlewaretoken={token}".encode()
    request = urllib.request.Request(f"http://127.0.0.1:{served}/setup/", form, sent)
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.urlopen(request, timeout=10)
    assert answer.value.code == 422  # an empty form, not a forged one
    sent["Origin"] = "http://chat.example.org"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(request.full_url, form, sent), timeout=10)


def well(target: str) -> bool:
    """What the health checks of compose.yaml run."""
    [program, *arguments, _] = SERVICES["web"]["healthcheck"]["test"][1:]
    assert program == "python"
    return subprocess.run([sys.executable, *arguments, target], cwd=ROOT, capture_output=True).returncode == 0


def test_a_file_that_was_not_touched_lately_is_not_well(tmp_path: Path) -> None:
    file = tmp_path / "alive"
    assert not well(str(file))
    file.touch()
    assert well(str(file))
    past = time.time() - 60
    os.utime(file, (past, past))
    assert not well(str(file))


@pytest.mark.long
def test_workers_and_the_clock_are_well_while_they_reach_their_broker(tmp_path: Path) -> None:
    files = {name: tmp_path / name / "alive" for name in ("worker0", "beat")}
    with postgres() as database_url, redis() as server, ExitStack() as running:
        for name, file in files.items():
            file.parent.mkdir()
            cluster = Cluster(
                file.parent, database_url=database_url, redis_url=server.url, llm_url="http://127.0.0.1:9/v1",
                workers=1, ALIVE_FILE=str(file),
            )  # fmt: skip
            if name == "worker0":
                cluster.manage("migrate", "--verbosity=0")
            cluster.start(name)
            running.callback(cluster.kill, name)
        for name, file in files.items():
            wait_until(file.exists, what=f"the file of {name}", seconds=60)
        server.stop()
        time.sleep(1)
        for file in files.values():
            file.unlink()
        time.sleep(7)  # longer than from one sign of life to the next
        assert not any(file.exists() for file in files.values())
        server.start()
        for name, file in files.items():
            wait_until(file.exists, what=f"the file of {name}", seconds=60)
