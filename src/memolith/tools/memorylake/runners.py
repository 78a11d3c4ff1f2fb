"""Run Python beside the files, in a sandbox."""

from typing import Annotated

from pydantic import Field

from memolith.tools.call import Call
from memolith.tools.memorylake.dialect import memorylake
from memolith.tools.memorylake.models import CodeResult, RunnerResult

RESTARTED_WARNING = (
    "The runner was started anew under the same id; what earlier calls had defined is gone."
)


@memorylake.tool(effect="runs")
def create_memory_code_runner(call: Call) -> RunnerResult:
    """Start a Python runner for `run_memory_code`; one per session is enough, for it keeps its
    variables.
    """
    executor_id = call.engine.runners.create(call.caller)
    mode, limitation = call.engine.runners.state()
    return {
        "result": {
            "executor_id": executor_id,
            "mode": mode,
            "warnings": [limitation] if limitation else [],
        }
    }


@memorylake.tool(
    effect="runs",
    needs_read=True,
    example={"executor_id": "executor-of-nobody", "code": "print(6 * 7)"},
)
def run_memory_code(
    call: Call,
    *,
    executor_id: Annotated[str, Field(description="What create_memory_code_runner gave.")],
    code: Annotated[
        str,
        Field(
            description="Python; print what you want to see. `get_memory_path(memory_id, "
            "memory_name)` gives the path of a file; pandas is there."
        ),
    ],
) -> CodeResult:
    """Run Python in a sandbox without network; variables stay for the next call of the same
    runner.
    """
    ran = call.engine.runners.run(call.caller, executor_id, code, call.cancelled)
    return {
        "result": {
            "stdout": ran.stdout,
            "stderr": ran.stderr,
            "error": ran.error,
            "truncated": ran.truncated,
            "duration_ms": ran.duration_ms,
            "restarted": ran.restarted,
            "warnings": [RESTARTED_WARNING] if ran.restarted else [],
        }
    }
