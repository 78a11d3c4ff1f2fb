"""All routes of the web page."""

from starlette.routing import Route

from memolith.doors.page.admin import AdminPages
from memolith.doors.page.api_docs import ApiDocsPages
from memolith.doors.page.clients import ClientPages
from memolith.doors.page.decide import DecidePages
from memolith.doors.page.files import FilePages
from memolith.doors.page.graph import GraphPages
from memolith.doors.page.home import HomePages
from memolith.doors.page.items import ItemPages
from memolith.doors.page.knowledge import KnowledgePages
from memolith.doors.page.live import LivePages
from memolith.doors.page.prompts import PromptPages
from memolith.doors.page.search import SearchPages
from memolith.doors.page.sign_in import CALLBACK_PATH, LOGIN_PATH, SignInPages
from memolith.doors.page.site import SIGN_IN_PATH, Site
from memolith.doors.page.timeline import TimelinePages

OPEN_PATHS = frozenset(("/", SIGN_IN_PATH, LOGIN_PATH, CALLBACK_PATH))
"""The paths that need no cookie."""

PAGES = (
    SignInPages,
    HomePages,
    SearchPages,
    ItemPages,
    LivePages,
    GraphPages,
    KnowledgePages,
    TimelinePages,
    DecidePages,
    FilePages,
    PromptPages,
    ClientPages,
    ApiDocsPages,
    AdminPages,
)


def page_routes(site: Site) -> list[Route]:
    """The routes of every page."""
    return [route for pages in PAGES for route in pages(site).routes()]
