"""The workflow files and issue forms: what they call exists, and no job may do more than it needs."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import Any

import pytest
from support.paths import ROOT

yaml = pytest.importorskip("yaml")

FOLDER = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("workflows/*.yml")}
FORMS = [path for path in FOLDER.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]


def test_the_workflows() -> None:
    assert set(WORKFLOWS) == {"ci", "wheels", "docs", "proof"}


def test_every_long_run_is_in_one_schedule() -> None:
    job = WORKFLOWS["proof"]["jobs"]["run"]
    named = [json.loads(text) for text in re.findall(r"'(\[.*?\])'", job["strategy"]["matrix"]["name"])]
    script = (ROOT / ".ci" / "proof").read_text(encoding="utf-8")
    # The runners for x86-64 are Ubuntu, whose apt has no packages for aarch64: ci.yml has a runner of that processor.
    runs = sorted([*named[0], *named[1], "aarch64"])
    assert "ubuntu-24.04-arm" in WORKFLOWS["ci"]["jobs"]["quick"]["strategy"]["matrix"]["os"]
    assert runs == sorted(re.findall(r"^all=\((.*)\)$", script, re.M)[0].split())
    assert runs == sorted(re.findall(r"^    ([\w-]+)\) \S", script, re.M)[-len(runs) :])


@pytest.mark.parametrize("name", ["ci", "wheels", "docs", "proof"])
def test_what_a_workflow_calls_exists(name: str) -> None:
    commands = [step["run"] for step in steps(name) if "run" in step]
    assert commands
    for command in commands:
        for script in re.findall(r"(?:^|\s)(\.[\w/.-]+/[\w.-]+)", command):
            assert os.access(ROOT / script, os.X_OK), command
        for extras in re.findall(r"\.\[([\w,-]+)\]", command):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), command
    if name == "ci":
        assert ".ci/run" in commands
    for trigger in WORKFLOWS[name][True].values():  # YAML 1.1 reads `on` as true
        for path in trigger.get("paths", []) if isinstance(trigger, dict) else []:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", ["ci", "wheels", "docs", "proof"])
def test_permissions_are_minimal(name: str) -> None:
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {"contents": "read"}
    more = {job: content["permissions"] for job, content in workflow["jobs"].items() if "permissions" in content}
    assert more == ({"publish": {"id-token": "write"}} if name == "wheels" else {})
    assert "secrets." not in (FOLDER / f"workflows/{name}.yml").read_text(encoding="utf-8")
    for step in steps(name):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", step["uses"]), "pinned by major version"
            assert step["uses"].split("@")[0] != "actions/checkout" or step["with"] == {"persist-credentials": False}


def test_only_a_tag_publishes() -> None:
    publish = WORKFLOWS["wheels"]["jobs"]["publish"]
    assert publish["if"] == "github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')"
    assert publish["environment"] == "pypi"
    assert set(publish["needs"]) == set(WORKFLOWS["wheels"]["jobs"]) - {"publish"}


def test_the_quick_job_has_every_python() -> None:
    versions = WORKFLOWS["ci"]["jobs"]["quick"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: 3."
    classified = [line.removeprefix(prefix) for line in PROJECT["classifiers"] if line.startswith(prefix)]
    assert [f"3.{minor}" for minor in classified] == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_linters_have_one_version() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    hooks = [hook for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]
    assert {hook["language"] for hook in hooks} == {"python"}, "a hook of a fresh clone finds nothing installed"
    pins = {pin for hook in hooks for pin in hook["additional_dependencies"]}
    assert len(pins) == 2
    assert pins <= set(PROJECT["optional-dependencies"]["lint"])


def test_the_pages_name_files_that_exist() -> None:
    texts = [*FORMS, FOLDER / "PULL_REQUEST_TEMPLATE.md", ROOT / "SECURITY.md", ROOT / "RELEASING.md"]
    for path in texts:
        for name in re.findall(r"\b(?:[a-z_]+/)*[A-Za-z_]+\.(?:md|toml|py)\b", path.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), (path.name, name)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_what_is_needed(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    form = yaml.safe_load(text)
    assert set(form) == {"name", "description", "body"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert "lp.build_info()" in text
    assert "`lowprec explain" in text or "`lowprec inspect`" in text
