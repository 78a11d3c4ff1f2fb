"""Running code of users beside their files, in a sandbox."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from memolith.domain.callers import Caller
from memolith.engine.documents import Documents
from memolith.ports.sandbox import CodeResult, Sandbox, SandboxState


@dataclass(frozen=True)
class Runners:
    """Starts runners and runs code in them."""

    sandbox: Callable[[], Sandbox]
    documents: Documents

    def state(self) -> SandboxState:
        """What fences code in, and what the caller should know about it."""
        return self.sandbox().state

    def create(self, caller: Caller) -> str:
        """Start a runner of the caller; returns its id."""
        return self.sandbox().create((caller.tenant, caller.user))

    def run(
        self, caller: Caller, runner: str, code: str, cancelled: Callable[[], bool]
    ) -> CodeResult:
        """Run code in a runner of the caller; it can open the files that the caller may see."""
        owner = (caller.tenant, caller.user)
        locate = partial(self.documents.stored, caller)
        return self.sandbox().run(owner, runner, code, locate, cancelled)
