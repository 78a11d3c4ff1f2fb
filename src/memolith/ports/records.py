"""Values by name: settings, vault entries and the like."""

from typing import Protocol


class Records(Protocol):
    """Reads what is neither item nor link: settings, vault entries, client keys."""

    def records(self, tenant: str, folder: str = "") -> dict[str, str]: ...


class RecordsWriter(Protocol):
    """Keeps records."""

    def put_record(self, tenant: str, name: str, value: str) -> None: ...
