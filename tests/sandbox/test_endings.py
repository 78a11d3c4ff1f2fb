"""A runner that fails while the server ends is ended once, and nobody stumbles over it."""

import sys
from pathlib import Path

import pytest

from memolith.ports.sandbox import Bounds
from memolith.sandbox.linux import LinuxSandbox
from memolith.sandbox.runner import Output, no_documents

if sys.platform != "linux":
    pytest.skip("the sandbox is made of what Linux offers", allow_module_level=True)

OWNER = ("tenant", "user")


def test_a_runner_that_dies_while_the_sandbox_is_closed_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = LinuxSandbox(tmp_path, Bounds())
    if sandbox.state.mode == "off":
        pytest.skip(sandbox.state.note)
    try:
        executor = sandbox.create(OWNER)
        runner = sandbox.runners[executor]
        output = runner.output

        def close_first() -> tuple[Output, Output]:
            # As another thread does that ends the server at this very moment.
            sandbox.close()
            return output()

        monkeypatch.setattr(runner, "output", close_first)
        result = sandbox.run(OWNER, executor, "import os; os._exit(1)", no_documents, lambda: False)
        assert result.error is not None
        assert "The runner was ended" in result.error
        assert not sandbox.runners
    finally:
        sandbox.close()
