"""Files: take them in, read what was found in them, try Python over them."""

from typing import Any
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memolith.doors.http.auth.access import PAGE_UPLOAD_PATH
from memolith.doors.http.files import FileRoutes
from memolith.doors.page.file_sections import sections_of
from memolith.doors.page.site import (
    PAGE_HEADERS,
    Site,
    done,
    text_of,
    wants_json,
    whole_number,
)
from memolith.doors.request_keys import CALLER_KEY, SCOPES_KEY, SHARE_KEY
from memolith.errors import Denied, InvalidInput, NotFound

FILE_PATH = PAGE_UPLOAD_PATH + "/{id}"
PAGE_SIZE = 20
PIECES_PER_PAGE = 50
# Both need nothing that memolith does not bring: pandas is an extra.
SHEET_CODE = """\
from python_calamine import CalamineWorkbook
sheet = CalamineWorkbook.from_path(path).get_sheet_by_index(0)
for row in sheet.to_python()[:5]:
    print(row)"""
TABLE_CODE = """\
import csv
with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
    rows = list(csv.reader(file, delimiter="{delimiter}"))
for row in rows[:5]:
    print(row)"""
SAMPLE_CODES = {
    "xlsx": SHEET_CODE,
    "xls": SHEET_CODE,
    "csv": TABLE_CODE.format(delimiter=","),
    "tsv": TABLE_CODE.format(delimiter="\\t"),
}
"""What the runner offers to try first, by the ending of a name."""
SAMPLE_CODE = 'print(open(path, "rb").read(200))'


class FilePages:
    """The list of files, the page of one, uploading, and the runner."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.files = FileRoutes(site.app, site.pools)

    def routes(self) -> list[Route]:
        guarded = self.site.guarded
        return [
            Route(PAGE_UPLOAD_PATH, guarded(self.list_files)),
            Route(PAGE_UPLOAD_PATH, guarded(self.upload), methods=["POST"]),
            Route(FILE_PATH, guarded(self.show)),
            Route(FILE_PATH + "/delete", guarded(self.delete), methods=["POST"]),
            Route(FILE_PATH + "/reread", guarded(self.reread), methods=["POST"]),
            Route(FILE_PATH + "/run", guarded(self.run), methods=["POST"]),
        ]

    async def list_files(self, request: Request) -> Response:
        offset = whole_number(request.query_params.get("offset", "")) or 0
        name = request.query_params.get("name", "").strip()
        listed = await self.site.run(
            request, "list_files", name=name, limit=PAGE_SIZE, offset=offset
        )
        values = {
            "listed": listed,
            "name": name,
            "offset": offset,
            "page_size": PAGE_SIZE,
            "max_bytes": self.site.app.settings.file_bytes,
            "may_upload": self._may_upload(request),
        }
        return await self.site.show(request, "files.html", values)

    async def upload(self, request: Request) -> Response:
        """Keep one file. Scripts are answered in JSON, forms with the page of the file."""
        if not self._may_upload(request):
            raise Denied("This needs a key with the scope: write.")
        # The place comes first: a body that is not read yet takes no room on the disk.
        async with self.site.pools.files.place(request.scope[SHARE_KEY]):
            form = await self.site.form(request)
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.filename:
                raise InvalidInput("Choose a file first.", field="file")
            caller = request.scope[CALLER_KEY]
            may_read = "read" in request.scope[SCOPES_KEY]
            kept = await self.site.pools.files.run(
                None, lambda: self.files.keep(caller, file, may_read)
            )
        path = file_path(kept["id"])
        if wants_json(request):
            told = {"name": kept.get("name", ""), "path": path, "known": kept["known"]}
            warnings = kept.get("warnings", [])
            return JSONResponse({**told, "warnings": warnings}, headers=PAGE_HEADERS)
        return done(path, "known" if kept["known"] else "uploaded")

    async def show(self, request: Request) -> Response:
        return await self.site.show(request, "file.html", await self._file_values(request))

    async def delete(self, request: Request) -> Response:
        await self.site.form(request)
        id = request.path_params["id"]
        changed = await self.site.run(request, "delete_file", memory_id=id)
        return done(PAGE_UPLOAD_PATH, "deleted", int(changed["event"]))

    async def reread(self, request: Request) -> Response:
        await self.site.form(request)
        id = request.path_params["id"]
        await self.site.run(request, "reread_file", memory_id=id)
        return done(file_path(id), "reread")

    async def run(self, request: Request) -> Response:
        """Run code over the file, and show what came of it below the code."""
        form = await self.site.form(request)
        code = text_of(form, "code")
        executor = text_of(form, "executor_id")
        try:
            ran = await self._run_code(request, executor, code)
        except NotFound:
            # The runner was ended, because it was not used for long or the server began anew.
            ran = await self._run_code(request, "", code)
        values = await self._file_values(request)
        return await self.site.show(request, "file.html", {**values, **ran, "code": code})

    async def _run_code(self, request: Request, executor: str, code: str) -> dict[str, Any]:
        warnings: list[str] = []
        if not executor:
            made = await self.site.run(request, "create_memory_code_runner")
            executor = made["result"]["executor_id"]
            warnings = made["result"].get("warnings", [])
        ran = await self.site.run(request, "run_memory_code", executor_id=executor, code=code)
        return {"executor_id": executor, "ran": ran["result"], "runner_warnings": warnings}

    async def _file_values(self, request: Request) -> dict[str, Any]:
        id = request.path_params["id"]
        cite = request.query_params.get("cite", "")
        shown = await self.site.run(
            request,
            "show_file",
            memory_id=id,
            cite=cite or None,
            limit=PIECES_PER_PAGE,
            offset=whole_number(request.query_params.get("offset", "")) or 0,
        )
        fetched = await self.site.run(request, "fetch_memory", memory_ids=[id])
        return {
            "shown": shown,
            "file": shown["file"],
            "cite": cite,
            "sections": sections_of(shown["chunks"], cite),
            "page_size": PIECES_PER_PAGE,
            "download": fetched[shown["file"]["id"]].get("presigned_url"),
            "may_change": self._may_upload(request),
            "may_run": self.site.offers(request, "run_memory_code"),
            "code": sample_code(shown["file"]),
            "executor_id": "",
            "ran": None,
            "runner_warnings": [],
        }

    def _may_upload(self, request: Request) -> bool:
        """Whether the key may write, and the server lets anybody write."""
        return self.site.offers(request, "delete_file")


def file_path(id: str) -> str:
    return f"{PAGE_UPLOAD_PATH}/{quote(id, safe='')}"


def sample_code(file: dict[str, Any]) -> str:
    """Code to start from, which opens the file."""
    ending = file["name"].rpartition(".")[2].lower()
    lines = [f"path = get_memory_path({file['id']!r}, {file['name']!r})"]
    lines.append(SAMPLE_CODES.get(ending, SAMPLE_CODE))
    return "\n".join(lines)
