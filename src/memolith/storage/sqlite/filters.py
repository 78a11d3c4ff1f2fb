"""Turns a filter into SQL conditions for SQLite.

A statement names the item `i`. One that looks at passages also names the passage `p`. The
conditions are put in the place of `/* filters */`, their values are passed as parameters.
"""

import json
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.queries import Condition, Filter
from memolith.storage.rows import Parameter, Parameters, json_text


class FilterSql(NamedTuple):
    """The conditions of a filter, each after an `and`, and the values of their parameters."""

    text: str
    values: Parameters


CONDITIONS = {
    "kinds": "i.kind in (select value from json_each(:filter_kinds))",
    "tags_all": """i.row in (
        select t.item
        from tag t
        where t.tenant = :tenant and t.tag in (select value from json_each(:filter_tags_all))
        group by t.item
        having count(*) = json_array_length(:filter_tags_all)
    )""",
    "tags_any": """exists (
        select 1
        from tag t
        where t.tenant = :tenant and t.item = i.row
            and t.tag in (select value from json_each(:filter_tags_any))
    )""",
    "tags_none": """not exists (
        select 1
        from tag t
        where t.tenant = :tenant and t.item = i.row
            and t.tag in (select value from json_each(:filter_tags_none))
    )""",
    "statuses": "i.status in (select value from json_each(:filter_statuses))",
    "forgotten": "i.forgotten = :filter_forgotten",
    "since": "i.created_at >= :filter_since",
    "until": "i.created_at <= :filter_until",
    "projects": "i.project in (select value from json_each(:filter_projects))",
    "namespaces": "i.namespace in (select value from json_each(:filter_namespaces))",
    "topics": "i.attributes ->> 'topic_id' in (select value from json_each(:filter_topics))",
    "owner": "i.owner = :filter_owner",
    "speakers": """i.row in (
        select s.item
        from passage s
        where s.tenant = :tenant and s.speaker in (select value from json_each(:filter_speakers))
    )""",
    "ids": "i.id in (select value from json_each(:filter_ids))",
    "title": "instr(casefold(i.title), casefold(:filter_title)) > 0",
    "titles": "i.title in (select value from json_each(:filter_titles))",
}
"""The condition on an item for each field of a filter."""

PASSAGE_CONDITIONS = CONDITIONS | {
    # The passages are few already, so each item is looked at instead of all items with the tags.
    "tags_all": """(
        select count(*)
        from tag t
        where t.tenant = :tenant and t.item = i.row
            and t.tag in (select value from json_each(:filter_tags_all))
    ) = json_array_length(:filter_tags_all)""",
    "since": "p.at >= :filter_since",
    "until": "p.at <= :filter_until",
    "speakers": "p.speaker in (select value from json_each(:filter_speakers))",
}
"""The same in a statement that looks at passages."""

ONE_KIND = "i.kind = :filter_kind"
"""Only an equality lets an index give the rows in the order of the list."""

NOT_EXPIRED = "coalesce(i.attributes ->> 'expires_at', '~') > :filter_now"
"""`~` comes after every date."""

CERTAINTY = """iif(
        json_extract(i.attributes, '$.certainty_source') = 'given',
        json_extract(i.attributes, '$.certainty_score'),
        round(
            json_extract(i.attributes, '$.certainty_score') * pow(0.5, max(0,
                julianday('now', 'start of day') - julianday(substr(
                    coalesce(json_extract(i.attributes, '$.reviewed_at'), i.created_at), 1, 10
                ))
            ) / 365),
            2
        )
    )"""
"""How certain a concept is today: as the user set it, or as it was computed and has faded since
its last review."""

_ATTRIBUTE = "json_extract(i.attributes, :attribute)"
ATTRIBUTE_CONDITIONS = {
    "eq": f"{_ATTRIBUTE} is not distinct from :value",
    "ne": f"{_ATTRIBUTE} is distinct from :value",
    "lt": f"{_ATTRIBUTE} < :value and (typeof({_ATTRIBUTE}) = 'text') = (typeof(:value) = 'text')",
    "le": f"{_ATTRIBUTE} <= :value and (typeof({_ATTRIBUTE}) = 'text') = (typeof(:value) = 'text')",
    "gt": f"{_ATTRIBUTE} > :value and (typeof({_ATTRIBUTE}) = 'text') = (typeof(:value) = 'text')",
    "ge": f"{_ATTRIBUTE} >= :value and (typeof({_ATTRIBUTE}) = 'text') = (typeof(:value) = 'text')",
    "glob": f"exists (select 1 from json_each(:value) where {_ATTRIBUTE} glob value)",
    "in": f"{_ATTRIBUTE} in (select value from json_each(:value))",
    "under": f"""(
        {_ATTRIBUTE} = rtrim(:value, '/')
        or substr({_ATTRIBUTE}, 1, length(rtrim(:value, '/')) + 1) = rtrim(:value, '/') || '/'
    )""",
    "has": """json_type(i.attributes, :attribute) = 'array' and exists (
        select 1 from json_each(i.attributes, :attribute) where value = :value
    )""",
    "is_or_lacks": f"coalesce({_ATTRIBUTE}, :value) = :value",
    "tagged": """exists (
        select 1
        from tag t
        where t.tenant = :tenant and t.item = i.row
            and t.tag in (select value from json_each(:value))
    )""",
    "sure": f"{CERTAINTY} between (:value ->> 0) and (:value ->> 1)",
}
"""The condition for each operator on an attribute. `:attribute` and `:value` get a number each."""

LINKED = """i.id in (
        with entity as materialized (
            select s.id
            from item s
            where s.tenant = :tenant and s.kind = 'entity' and s.forgotten = 0 /* visible */
                and (
                    s.title in (select value from json_each(:value))
                    or lower(s.title) in (select value from json_each(:value))
                    or exists (
                        select 1
                        from json_each(s.attributes -> 'aliases')
                        where lower(value) in (select value from json_each(:value))
                    )
                )
        )
        select l.target
        from entity
        join link l on l.source = entity.id
        where l.tenant = :tenant and l.type = :attribute
    )"""
"""The item is linked to by an entity of one of these names, by a link of this type."""


def visible(alias: str) -> str:
    """The condition that the caller may see an item."""
    return f"""(
        {alias}.owner = :filter_user
        or {alias}.audience = 'org'
        or ({alias}.audience = 'project' and {alias}.project = cast(:filter_project as text))
    )"""


def filter_sql(
    caller: Caller, chosen: Filter, on_passages: bool = False, now: str | None = None
) -> FilterSql:
    """The conditions that keep what the caller may see and the filter keeps.

    `on_passages` tells that the statement looks at passages. What has expired at the time `now`
    is left out; None keeps it.
    """
    parts: list[str] = []
    values: Parameters = {"filter_user": caller.user, "filter_project": caller.project}
    if not caller.admin:
        parts.append(visible("i"))
    conditions = PASSAGE_CONDITIONS if on_passages else CONDITIONS
    for field, condition in conditions.items():
        value = getattr(chosen, field)
        is_empty_title = field == "title" and value == ""
        if value is None or value == () or is_empty_title:
            continue
        if field == "kinds" and len(value) == 1:
            parts.append(ONE_KIND)
            values["filter_kind"] = value[0]
            continue
        parts.append(condition)
        values[f"filter_{field}"] = _field_value(value)
    for number, test in enumerate(chosen.where):
        parts.append(_attribute_sql(caller, test, number))
        values[f"attribute_{number}"] = _attribute_name(test)
        values[f"value_{number}"] = _attribute_value(test)
    if now is not None:
        parts.append(NOT_EXPIRED)
        values["filter_now"] = now
    return FilterSql("".join(f"\n    and {part}" for part in parts), values)


def sort_keys(sort: str) -> list[str]:
    """What a list is ordered by; what is equal stays in the order of creation."""
    keys = SORTS[sort]
    # The same column twice would make SQLite sort what the index gives in order.
    return keys if "i.seq" in keys else [*keys, "i.seq"]


SORTS = {
    "created_at": ["i.seq"],
    "updated_at": ["i.updated_at"],
    "access_count": ["i.reads"],
    "last_accessed": ["i.last_read"],
    "title": ["lower(i.title)"],
    "certainty": [CERTAINTY, "lower(i.title)"],
}
"""The orders that a list can have."""


def _field_value(value: tuple[str, ...] | str | bool) -> Parameter:
    if isinstance(value, tuple):
        return json.dumps(list(dict.fromkeys(value)))
    if isinstance(value, bool):
        return int(value)
    return value


def _attribute_sql(caller: Caller, test: Condition, number: int) -> str:
    if test.op == "linked":
        visibility = "" if caller.admin else "and " + visible("s")
        text = LINKED.replace("/* visible */", visibility)
    else:
        text = ATTRIBUTE_CONDITIONS[test.op]
    text = text.replace(":attribute", f":attribute_{number}")
    return text.replace(":value", f":value_{number}")


def _attribute_name(test: Condition) -> str:
    if test.op == "linked":
        return test.name
    # A path of SQLite's JSON functions.
    return "$." + json.dumps(test.name)


def _attribute_value(test: Condition) -> Parameter:
    value: Json = test.value
    if test.op == "glob" and not isinstance(value, list):
        value = [value]
    if isinstance(value, list | tuple | dict):
        return json_text(value)
    if isinstance(value, bool):
        return int(value)
    return value
