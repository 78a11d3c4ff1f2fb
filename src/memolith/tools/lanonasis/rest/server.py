"""What a client asks about the server itself."""

from memolith.tools.call import Call
from memolith.tools.lanonasis.models import HealthReport
from memolith.tools.lanonasis.rest.api import BASE, lanonasis_api
from memolith.tools.lanonasis.server import health_check


@lanonasis_api.route("GET", BASE + "/health", read_only=True)
def get_health(call: Call) -> HealthReport:
    """Whether the server works and the key is good."""
    return health_check(call)
