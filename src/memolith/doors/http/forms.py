"""Reading the fields of a form, whatever was sent in its place."""

from email.message import Message

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from memolith.engine.validation import checked_text
from memolith.errors import InvalidInput

CHARSETS = ("utf-8", "utf8")


async def read_form(request: Request, max_files: int = 0, max_fields: int = 1000) -> FormData:
    """The fields of a form; one that cannot be read or kept is refused."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    charset = header.get_content_charset("utf-8")
    if charset not in CHARSETS:
        raise InvalidInput("Send the form in UTF-8.")
    try:
        form = await request.form(max_files=max_files, max_fields=max_fields)
    except (HTTPException, ClientDisconnect) as error:
        raise InvalidInput("The form did not come whole; send it again.") from error
    for name, value in form.multi_items():
        checked_text("The name of a field", name)
        if isinstance(value, str):
            checked_text(name[:100], value)
    return form
