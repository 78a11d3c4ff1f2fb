"""What stands in `deploy` and in the page about it is well-formed, and names only what exists."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import crossplane
import pytest
import yaml

from memolith.bootstrap import App, open_app
from memolith.domain.callers import Caller
from memolith.domain.items import Draft
from memolith.domain.passages import Block
from memolith.doors.cli.parser import parse
from memolith.settings import PREFIX, Settings
from tests.postgres import a_cluster, binaries
from tests.programs.children import wait_for

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "how-to" / "team.md").read_text(encoding="utf-8")
UNITS = sorted(DEPLOY.glob("*.service"))
KUBERNETES = DEPLOY / "kubernetes"
FAILOVER = DEPLOY / "failover"
FAILOVER_PAGE = (ROOT / "docs" / "how-to" / "failover.md").read_text(encoding="utf-8")
TEXTS = {
    file.name: file.read_text(encoding="utf-8")
    for file in [*DEPLOY.iterdir(), *KUBERNETES.iterdir(), *FAILOVER.iterdir()]
    if file.is_file()
} | {"team.md": PAGE, "failover.md": FAILOVER_PAGE}
RESOURCES: list[dict[str, Any]] = [
    resource
    for file in sorted(KUBERNETES.glob("*.yaml"))
    for resource in yaml.safe_load_all(file.read_text(encoding="utf-8"))
]
PODS = [
    resource["spec"]["template"]["spec"]
    for resource in RESOURCES
    if "template" in resource.get("spec", {})
]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize("name", TEXTS)
def test_settings_that_are_named_exist(name: Any) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+)", TEXTS[name]))
    assert named <= {field.upper() for field in Settings.model_fields}
    spelled = set(re.findall(r"`(database_\w+|\w+_(?:per_minute|bytes|from|s))`", TEXTS[name]))
    assert spelled <= Settings.model_fields.keys()


def test_the_page_on_failover_puts_every_file_in_its_place() -> None:
    named = set(re.findall(r"deploy/failover/([\w.]+)", FAILOVER_PAGE))
    assert named == {file.name for file in FAILOVER.iterdir()}


def test_the_files_of_a_node_leave_open_only_its_name_and_address() -> None:
    for file in FAILOVER.iterdir():
        left_open = set(re.findall(r"@\w+@", TEXTS[file.name]))
        assert left_open <= {f"@{name}@" for name in ("NODE", "ADDRESS")}, file.name
        assert not left_open or f"fill deploy/failover/{file.name}" in FAILOVER_PAGE


def test_the_settings_of_the_cluster_fit_together() -> None:
    """Patroni would change them silently, and the page would be wrong."""
    cluster = yaml.safe_load(TEXTS["patroni.yml"])["bootstrap"]["dcs"]
    assert cluster["loop_wait"] + 2 * cluster["retry_timeout"] <= cluster["ttl"]
    assert f"about {cluster['ttl']} seconds" in FAILOVER_PAGE
    users = re.findall(r'^"(\w+)"', TEXTS["userlist.txt"], re.M)
    assert users == ["memolith_server"]


def commands() -> list[list[str]]:
    """The words after `memolith` wherever it is started."""
    services = yaml.safe_load(TEXTS["compose.yaml"])["services"]
    lines = re.findall(r"^ExecStart=\S*/memolith (.*)", "\n".join(TEXTS.values()), re.M)
    lines += re.findall(
        r"^(?:\$ |.* )?memolith ((?:keys|copy|tenant|serve|worker|migrate) [^`\n]*)", PAGE, re.M
    )
    started = [service["command"] for service in services.values() if "command" in service]
    started += [container["args"] for pod in PODS for container in pod["containers"]]
    return [shlex.split(line.removesuffix(" &")) for line in lines] + started


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_that_are_started_exist(words: Any) -> None:
    assert parse(words).run


def test_the_container_file_copies_and_starts_what_exists() -> None:
    started = re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", TEXTS["Containerfile"], re.M)
    assert (
        parse([word for words in started for word in yaml.safe_load(words)][1:]).command == "serve"
    )
    assert all(
        (ROOT / name).exists()
        for line in re.findall(r"^COPY (?!--)(.*) \S+$", TEXTS["Containerfile"], re.M)
        for name in line.split()
    )


@pytest.mark.skipif(
    not (BIN / "hadolint").exists(), reason="hadolint is not to be had for this platform"
)
def test_the_container_file_lints_clean() -> None:
    subprocess.run([BIN / "hadolint", DEPLOY / "Containerfile"], check=True)


def test_the_compose_file_follows_its_schema_and_hangs_together() -> None:
    subprocess.run(
        [
            BIN / "check-jsonschema",
            "--builtin-schema",
            "vendor.compose-spec",
            DEPLOY / "compose.yaml",
        ],
        check=True,
    )
    given = dict(re.findall(r"^(\w+)=(.+)$", TEXTS["env.example"], re.M))
    assert set(re.findall(r"\$\{(\w+)", TEXTS["compose.yaml"])) == set(given)
    made = yaml.safe_load(TEXTS["compose.yaml"])
    mounted = [
        volume.split(":")[0]
        for service in made["services"].values()
        for volume in service.get("volumes", [])
    ]
    assert {name for name in mounted if not name.startswith("./")} == set(made["volumes"])
    assert all((DEPLOY / name).exists() for name in mounted if name.startswith("./"))
    assert (
        ROOT / "deploy" / made["services"]["server"]["build"]["context"] / "pyproject.toml"
    ).exists()
    # The container asks itself for its health by this name.
    assert "127.0.0.1:*" in given["MEMOLITH_HOSTS"].split(",")


def test_the_container_file_copies_all_that_the_package_is_built_from() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    needed = build["build"]["targets"]["wheel"]["force-include"]
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", TEXTS["Containerfile"], re.M)
    folders = {name for line in copied for name in line.split()}
    assert {Path(name).parts[0] for name in needed} <= folders


def test_the_ignore_file_lets_through_what_the_container_file_copies() -> None:
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", TEXTS["Containerfile"], re.M)
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {f"!{name}" for line in copied for name in line.split()} <= set(ignore)


def test_every_file_of_the_kubernetes_folder_is_applied_but_the_example() -> None:
    listed = yaml.safe_load(TEXTS["kustomization.yaml"])["resources"]
    present = {file.name for file in KUBERNETES.iterdir()}
    assert present - {"kustomization.yaml", "secret.example.yaml"} == set(listed)


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: pod["containers"][0]["name"])
def test_a_pod_runs_as_the_user_of_the_image_without_further_rights(pod: Any) -> None:
    user = int(re.findall(r"^USER (\d+)$", TEXTS["Containerfile"], re.M)[0])
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == user
    for container in pod["containers"]:
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"]
        assert not rights["allowPrivilegeEscalation"]


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: pod["containers"][0]["name"])
def test_a_pod_takes_its_database_from_the_example_of_the_secret(pod: Any) -> None:
    secret = yaml.safe_load(TEXTS["secret.example.yaml"])
    for container in pod["containers"]:
        wanted = container["env"][0]["valueFrom"]["secretKeyRef"]
        assert wanted["name"] == secret["metadata"]["name"]
        assert wanted["key"] in secret["stringData"]


@pytest.mark.parametrize("pod", PODS, ids=lambda pod: pod["containers"][0]["name"])
def test_the_cluster_sets_no_variables_for_its_services(pod: Any) -> None:
    # The service `memolith` would set MEMOLITH_PORT to an address.
    assert pod["enableServiceLinks"] is False


def test_the_probe_of_a_server_calls_under_a_name_that_it_accepts() -> None:
    server = next(pod["containers"][0] for pod in PODS if "readinessProbe" in pod["containers"][0])
    settings = yaml.safe_load(TEXTS["settings.yaml"])["data"]
    host = server["readinessProbe"]["httpGet"]["httpHeaders"][0]["value"]
    assert f"{host.split(':')[0]}:*" in settings["MEMOLITH_HOSTS"].split(",")


def test_the_passwords_of_the_roles_come_under_the_names_that_compose_gives() -> None:
    wanted = set(re.findall(r"^\\getenv \w+ (\w+)", TEXTS["roles.sql"], re.M))
    assert wanted <= yaml.safe_load(TEXTS["compose.yaml"])["services"]["db"]["environment"].keys()


def test_the_proxy_file_is_well_formed_and_lets_requests_through_as_large_as_the_server_takes(
    tmp_path: Path,
) -> None:
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"events {{}} http {{ include {DEPLOY / 'nginx.conf'}; }}", encoding="utf-8")
    parsed = crossplane.parse(str(whole), strict=True)
    assert parsed["errors"] == []
    server = next(
        block for block in parsed["config"][1]["parsed"] if block["directive"] == "server"
    )
    files = next(
        line
        for line in server["block"]
        if line["directive"] == "location" and line["args"][-1] == "/files"
    )
    largest = [
        int(line["args"][0].removesuffix("m")) * 2**20
        for block in (server, files)
        for line in block["block"]
        if line["directive"] == "client_max_body_size"
    ]
    assert largest == [
        Settings.model_fields["body_bytes"].default,
        Settings.model_fields["file_bytes"].default + 2**20,
    ]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_hardened_and_keeps_its_data_in_its_state_folder(unit: Any) -> None:
    lines = re.findall(r"^(\w+)=(.*)$", TEXTS[unit.name], re.M)
    said = dict(lines)
    assert len(said) == len(lines)
    assert {
        "NoNewPrivileges": "yes",
        "ProtectSystem": "strict",
        "DynamicUser": "yes",
        "KillSignal": "SIGTERM",
        "Restart": "on-failure",
    }.items() <= said.items()
    assert said["Environment"] == f"{PREFIX}DATA=%S/{said['StateDirectory']}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(tmp_path: Path, unit: Any) -> None:
    # It looks for the program too, which is not where an installation has it.
    copy = tmp_path / unit.name
    copy.write_text(
        TEXTS[unit.name].replace("/opt/memolith/bin/memolith", sys.executable), encoding="utf-8"
    )
    ran = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def configured(names: str, backups: Path) -> list[tuple[str, str]]:
    """Lines for PostgreSQL's configuration as the page gives them, with a folder of the test for
    the backups.
    """
    found = re.findall(rf"^({names}) = '?(.*?)'?$", PAGE, re.M)
    assert len(found) == names.count("|") + 1
    return [(name, value.replace("/var/backups/memolith", str(backups))) for name, value in found]


def own(folder: Path, server: os.stat_result) -> None:
    """Give a folder and all in it to whoever the server runs as."""
    for path in [folder, *folder.rglob("*")]:
        shutil.chown(path, server.st_uid, server.st_gid)


def restore(data: Path, backups: Path, moment: str) -> None:
    """What the page says between the stop and the start of PostgreSQL."""
    server = data.stat()
    shutil.rmtree(data)
    shutil.copytree(backups / "base", data)
    wanted = dict(
        configured("restore_command|recovery_target_time|recovery_target_action", backups)
    )
    with open(data / "postgresql.conf", "a", encoding="utf-8") as file:
        file.writelines(
            f"{name} = '{value}'\n"
            for name, value in (wanted | {"recovery_target_time": moment}).items()
        )
    (data / "recovery.signal").touch()
    own(data, server)


def remember(app: App, text: str) -> None:
    app.engine.writing.remember(Caller(), Draft(title=text, blocks=(Block(text),)))


@pytest.mark.full
def test_a_point_in_time_comes_back_as_the_page_says() -> None:
    with a_cluster(durable=True) as cluster:
        data = Path(str(cluster.execute("show data_directory")[0][0]))
        backups = data.parent / "backups"
        (backups / "wal").mkdir(parents=True)
        own(backups, data.stat())
        for name, value in configured("archive_mode|archive_command", backups):
            cluster.execute(f"alter system set {name} = '{value}'")
        cluster.stop()
        cluster.start()
        chosen = Settings(
            data=data.parent / "app", database=cluster.create("memolith"), embedder="none"
        )
        with closing(open_app(chosen)) as app:
            remember(app, "before the copy")
            copy = shlex.split(
                next(line for line in PAGE.splitlines() if line.startswith("pg_basebackup "))
            )
            subprocess.run(
                [binaries() / copy[0], *copy[1:-1], backups / "base", "-d", cluster.url()],
                check=True,
            )
            remember(app, "after the copy")
            moment = str(cluster.execute("select now()")[0][0])
            remember(app, "too late")
        # A clean stop archives what is left of the log.
        cluster.execute("select pg_switch_wal()")
        cluster.stop()
        restore(data, backups, moment)
        cluster.start()
        wait_for(lambda: cluster.execute("select pg_is_in_recovery()") == [(False,)])
        with closing(open_app(chosen)) as app, app.store.reading("local") as rows:
            assert [item.title for item in rows.all_items("local")] == [
                "before the copy",
                "after the copy",
            ]
