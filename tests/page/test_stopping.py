"""A server that is stopped while pages are open."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from memolith.doors.page import live
from tests.page.visitor import browser_of, sign_in_link
from tests.programs.served import thread


def test_an_open_page_does_not_hold_up_the_end_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stream that just looks for changes would end by itself.
    monkeypatch.setattr(live, "POLL_S", 30.0)
    with ExitStack() as left_open:
        with thread(tmp_path / "data") as served:
            visitor = left_open.enter_context(browser_of(served, follow_redirects=True))
            visitor.get(sign_in_link(served))
            answer = visitor.send(
                visitor.build_request("GET", served.url + "/ui/live"), stream=True
            )
            # The stream ends with the iterator, which is therefore kept.
            lines = answer.iter_lines()
            assert next(lines) == "retry: 2000"
        answer.close()
    # What has to be cut off after a while is logged as an error.
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
