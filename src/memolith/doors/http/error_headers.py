"""What an error says in headers, whatever dialect its body is worded in."""

from memolith.errors import MemolithError

TYPE_HEADER = "x-error-type"
FIELD_HEADER = "x-error-field"


def error_headers(error: MemolithError) -> dict[str, str]:
    """The kind of the error, the field at fault, and when to try again."""
    headers = {TYPE_HEADER: error.type}
    if error.field is not None and error.field.isascii() and error.field.isprintable():
        headers[FIELD_HEADER] = error.field
    if error.retry_s is not None:
        headers["retry-after"] = str(error.retry_s)
    return headers
