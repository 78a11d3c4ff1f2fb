"""Every memory system whose REST routes memolith serves."""

from memolith.tools.lanonasis.rest.api import lanonasis_api
from memolith.tools.mem0.api import mem0_api
from memolith.tools.rest_api import RestApi
from memolith.tools.sekha.rest.api import sekha_api

REST_APIS: tuple[RestApi, ...] = (sekha_api, mem0_api, lanonasis_api)
"""In the order in which their routes are tried."""
