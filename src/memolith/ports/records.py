"""Values by name: settings, vault entries and the like."""

from typing import Protocol


class Records(Protocol):
    """Reads what a tenant keeps beside its items: settings, vault entries."""

    def records(self, tenant: str, folder: str = "") -> dict[str, str]:
        """The records whose names begin with a folder like `vault/`, by the rest of the name."""
        ...


class RecordsWriter(Protocol):
    """Keeps records."""

    def put_record(self, tenant: str, name: str, value: str) -> None:
        """Keep a value under a name; an earlier value under that name is replaced."""
        ...
