"""How much was written lately, and how the server is."""

from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from memolith.tools.call import Call
from memolith.tools.manage.dialect import manage
from memolith.tools.result_schema import Described


class DayBody(TypedDict):
    """One day."""

    day: str
    written: Annotated[int, Described("How many items were written that are still there.")]
    total: Annotated[int, Described("How many of them there were at the end of the day.")]


class Waiting(TypedDict):
    """How many texts have no vector yet, and for how many it was given up."""

    pending: int
    failed: int


class ModelBody(TypedDict):
    """Whether search by meaning works, and the name of the model."""

    state: str
    name: str


class ActivityReport(TypedDict):
    """The result of `activity`."""

    days: list[DayBody]
    today: Annotated[dict[str, int], Described("The events of today by user.")]
    waiting: Waiting
    model: ModelBody
    store: str
    uptime_s: int
    failures: NotRequired[Annotated[list[str], Described("Why work was given up; for admins.")]]
    sizes: NotRequired[
        Annotated[dict[str, int], Described("Bytes by file; for the owner of the server.")]
    ]


@manage.tool(read_only=True)
def activity(
    call: Call,
    *,
    days: Annotated[int, Field(ge=1, le=366, description="How many days back.")] = 30,
) -> ActivityReport:
    """How much was written on each of the last days and by whom today, what waits for vectors, the
    model, for admins what failed, and for the owner of the server how large its store is.
    """
    growth = call.engine.activity.growth(call.caller, days)
    maintenance = call.engine.maintenance
    health = maintenance.health(call.caller.tenant)
    model = call.engine.recall.state()
    report: ActivityReport = {
        "days": [
            {"day": count.day, "written": count.written, "total": count.total}
            for count in growth.days
        ],
        "today": growth.today,
        "waiting": {"pending": int(health["pending"]), "failed": int(health["failed"])},
        "model": {"state": model.state, "name": model.model},
        "store": maintenance.store_name,
        "uptime_s": int(maintenance.uptime_s()),
    }
    if "admin" in call.scopes:
        report["failures"] = maintenance.failures(call.caller.tenant)
        sizes = call.engine.server_state.sizes(call.caller)
        if sizes:
            report["sizes"] = sizes
    return report
