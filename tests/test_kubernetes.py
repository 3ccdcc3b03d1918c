"""The manifests of deploy/kubernetes: the same processes, images and restrictions as compose.yaml has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_compose import COMPOSE, SERVICES, copied

pytestmark = pytest.mark.once
FOLDER = Path(__file__).parents[1] / "deploy" / "kubernetes"
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = [
    manifest for name in KUSTOMIZATION["resources"] for manifest in yaml.safe_load_all((FOLDER / name).read_text())
]
PODS = {
    manifest["metadata"]["labels"]["part"]: manifest["spec"]["template"]["spec"]
    for manifest in MANIFESTS
    if "template" in manifest["spec"]
}


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", []), *pod["containers"]]


CONTAINERS = {part: pod["containers"][0] for part, pod in PODS.items()}


def test_every_process_of_compose_runs_with_its_command() -> None:
    assert set(PODS) == set(SERVICES) - {"db"}
    for part in set(PODS) - {"redis"}:
        assert CONTAINERS[part]["command"] == SERVICES[part]["command"], part
    in_compose = [word.replace("$$", "$") for word in SERVICES["redis"]["command"]]
    assert CONTAINERS["redis"]["command"] == in_compose


def test_the_images_are_those_of_compose() -> None:
    images = {one["name"]: one for one in KUSTOMIZATION["images"]}
    assert COMPOSE["x-site"]["image"] == f"chatsite:{images['chatsite']['newTag']}"
    redis = images["redis"]
    assert SERVICES["redis"]["image"] == f"redis:{redis['newTag']}@{redis['digest']}"
    used = {
        container["image"] for pod in PODS.values() for container in pod["containers"] + pod.get("initContainers", [])
    }
    assert used == set(images)


@pytest.mark.parametrize("part", PODS)
def test_no_process_is_root_writes_into_its_image_or_gets_more_rights(part: str) -> None:
    pod = PODS[part]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    assert pod["automountServiceAccountToken"] is False
    for container in containers(pod):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]


def test_keys_of_models_are_only_where_models_are_asked() -> None:
    def secrets(container: dict[str, Any]) -> set[str]:
        return {source["secretRef"]["name"] for source in container.get("envFrom", []) if "secretRef" in source}

    asks = {part for part, container in CONTAINERS.items() if "chatsite-models" in secrets(container)}
    assert asks == {"web", "worker"} == {name for name, service in SERVICES.items() if "env_file" in service}
    for pod in PODS.values():
        assert not any("chatsite-models" in secrets(container) for container in pod.get("initContainers", []))


def test_names_that_one_manifest_uses_are_made_by_another() -> None:
    made = {one["name"] for kind in ("configMapGenerator", "secretGenerator") for one in KUSTOMIZATION[kind]}
    assert made == {"chatsite", "chatsite-models"}
    for generator in KUSTOMIZATION["secretGenerator"]:
        [file] = generator["envs"]
        example = (FOLDER / f"{file}.example").read_text()
        assert all("=" in line for line in example.splitlines())
    services = {one["metadata"]["name"]: one["spec"]["selector"] for one in MANIFESTS if one["kind"] == "Service"}
    assert services == {
        "chatsite": {"app": "chatsite", "part": "web"},
        "chatsite-redis": {"app": "chatsite", "part": "redis"},
    }
    values = {one["name"]: one.get("value", "") for one in CONTAINERS["worker"]["env"]}
    assert values["REDIS_URL"] == "redis://:$(REDIS_PASSWORD)@chatsite-redis:6379/0"
    for part in ("web", "worker", "beat"):
        assert PODS[part]["initContainers"][0]["command"] == ["python", "manage.py", "migrate", "--check"]
    assert "manage.py" in copied()
