"""Counts the calls of a key over all servers."""

from memolith.storage.postgres.writer import PostgresWriter


def take_calls(rows: PostgresWriter, key: str, minute: int, amount: int) -> int:
    """Take calls of a key in a minute; returns how many all servers together have taken."""
    row = rows.statements.row("take_calls", key=key, minute=minute, amount=amount)
    assert row is not None, "the statement returns the row that it wrote"
    return int(row.used)
