"""A data folder that is removed or replaced underneath a running process: it says so."""

import shutil
from pathlib import Path

import httpx2
import pytest

from memolith.bootstrap import App, open_app
from memolith.errors import StoreReplaced
from memolith.settings import Settings
from tests.conftest import ME, note
from tests.programs.children import TIMEOUT_S
from tests.tools.test_derived import server_on


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def opened(folder: Path) -> App:
    app = open_app(Settings(data=folder, embedder="none"))
    app.engine.writing.remember(ME, note("tea"))
    return app


def test_a_write_after_the_folder_was_removed_is_refused(opened: App, folder: Path) -> None:
    shutil.rmtree(folder)
    with pytest.raises(StoreReplaced):
        opened.engine.writing.remember(ME, note("coffee"))


def test_a_write_after_the_folder_was_replaced_is_refused_and_the_new_one_untouched(
    opened: App, folder: Path, tmp_path: Path
) -> None:
    folder.rename(tmp_path / "moved")
    other = open_app(Settings(data=folder, embedder="none"))
    with pytest.raises(StoreReplaced):
        opened.engine.writing.remember(ME, note("coffee"))
    assert other.engine.reading.list_items(ME).total == 0
    other.close()


def test_a_server_says_so_to_callers_and_in_its_health(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", embedder="none")
    with server_on(settings) as (url, key):
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx2.get(f"{url}/health", timeout=TIMEOUT_S).status_code == 200
        # The key is remembered from here on, so that the next call gets as far as the tool.
        remember = f"{url}/mcp/tools/remember"
        kept = httpx2.post(remember, json={"content": "tea"}, headers=headers, timeout=TIMEOUT_S)
        assert kept.status_code == 200
        (tmp_path / "data").rename(tmp_path / "moved")
        answer = httpx2.post(
            remember, json={"content": "coffee"}, headers=headers, timeout=TIMEOUT_S
        )
        assert (answer.status_code, answer.json()["error"]) == (503, "store_replaced")
        health = httpx2.get(f"{url}/health", timeout=TIMEOUT_S)
        assert (health.status_code, health.json()["error"]) == (503, "store_replaced")
