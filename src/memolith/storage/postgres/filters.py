"""Turns a filter into SQL conditions for PostgreSQL.

A statement names the item `i`. One that looks at passages also names the passage `p`. The
conditions are put in the place of `/* filters */`, their values are passed as parameters.
"""

import json
import re
from typing import NamedTuple

from memolith.domain.attributes import Json
from memolith.domain.callers import Caller
from memolith.domain.queries import Condition, Filter
from memolith.storage.rows import Parameter, Parameters


class FilterSql(NamedTuple):
    """The conditions of a filter, each after an `and`, and the values of their parameters."""

    text: str
    values: Parameters


def _any_of(parameter: str) -> str:
    """Equal to one of the texts of a JSON array."""
    return f"= any(array(select jsonb_array_elements_text(%({parameter})s::jsonb)))"


CONDITIONS = {
    "kinds": f"i.kind {_any_of('filter_kinds')}",
    "tags_all": f"""i.row in (
        select t.item
        from tag t
        where t.tenant = %(tenant)s and t.tag {_any_of("filter_tags_all")}
        group by t.item
        having count(*) = json_array_length(%(filter_tags_all)s::json)
    )""",
    "tags_any": f"""i.row in (
        select t.item
        from tag t
        where t.tenant = %(tenant)s and t.tag {_any_of("filter_tags_any")}
    )""",
    "tags_none": f"""i.row not in (
        select t.item
        from tag t
        where t.tenant = %(tenant)s and t.tag {_any_of("filter_tags_none")}
    )""",
    "statuses": f"i.status {_any_of('filter_statuses')}",
    "forgotten": "i.forgotten = %(filter_forgotten)s::integer",
    "since": "i.created_at >= %(filter_since)s",
    "until": "i.created_at <= %(filter_until)s",
    "projects": f"i.project {_any_of('filter_projects')}",
    "namespaces": f"i.namespace {_any_of('filter_namespaces')}",
    "topics": f"i.attributes::jsonb ->> 'topic_id' {_any_of('filter_topics')}",
    "owner": "i.owner = %(filter_owner)s",
    "speakers": f"""i.row in (
        select s.item
        from passage s
        where s.tenant = %(tenant)s and s.speaker {_any_of("filter_speakers")}
    )""",
    "ids": f"i.id {_any_of('filter_ids')}",
    "title": "strpos(lower(i.title), lower(%(filter_title)s)) > 0",
    "titles": f"i.title {_any_of('filter_titles')}",
}
"""The condition on an item for each field of a filter."""

PASSAGE_CONDITIONS = CONDITIONS | {
    "since": "p.at >= %(filter_since)s",
    "until": "p.at <= %(filter_until)s",
    "speakers": f"p.speaker {_any_of('filter_speakers')}",
}
"""The same in a statement that looks at passages."""

ONE_KIND = "i.kind = %(filter_kind)s"
"""Only an equality lets an index give the rows in the order of the list."""

NOT_EXPIRED = "coalesce(i.attributes::jsonb ->> 'expires_at', '~') collate \"C\" > %(filter_now)s"
"""`~` comes after every date."""

CERTAINTY = "certainty(i.attributes, i.created_at)"
"""How certain a concept is today; a function that migration 0001 makes."""

# What an attribute is, as JSON and as text; the function `attribute` is made by migration 0001.
_ATTRIBUTE = "attribute(i.attributes, %(attribute)s)"
_ATTRIBUTE_TEXT = f"({_ATTRIBUTE} #>> '{{}}')"
_VALUE = "%(value)s::jsonb"
_VALUE_TEXT = f"({_VALUE} #>> '{{}}')"


def _ordered(operator: str) -> str:
    """Compares numbers with numbers and texts with texts."""
    return f"""jsonb_typeof({_ATTRIBUTE}) = jsonb_typeof({_VALUE})
        and case jsonb_typeof({_VALUE})
            when 'number' then {_ATTRIBUTE} {operator} {_VALUE}
            when 'string' then {_ATTRIBUTE_TEXT} collate "C" {operator} {_VALUE_TEXT}
        end"""


ATTRIBUTE_CONDITIONS = {
    "eq": f"{_ATTRIBUTE} is not distinct from {_VALUE}",
    "ne": f"{_ATTRIBUTE} is distinct from {_VALUE}",
    "lt": _ordered("<"),
    "le": _ordered("<="),
    "gt": _ordered(">"),
    "ge": _ordered(">="),
    "glob": f"{_ATTRIBUTE_TEXT} ~ {_VALUE_TEXT}",
    "in": f"""{_ATTRIBUTE} <> 'null'
        and {_ATTRIBUTE} in (select jsonb_array_elements({_VALUE}))""",
    "under": f"""(
        {_ATTRIBUTE_TEXT} = rtrim({_VALUE_TEXT}, '/')
        or starts_with({_ATTRIBUTE_TEXT}, rtrim({_VALUE_TEXT}, '/') || '/')
    )""",
    "has": f"""jsonb_typeof({_ATTRIBUTE}) = 'array' and exists (
        select 1
        from jsonb_array_elements({_ATTRIBUTE}) e
        where {_VALUE} = case
            when jsonb_typeof(e) = 'boolean' then to_jsonb(e::boolean::integer)
            else e
        end
    )""",
    "is_or_lacks": f"{_ATTRIBUTE} in ('null', {_VALUE})",
    "tagged": f"""exists (
        select 1
        from tag t
        where t.tenant = %(tenant)s and t.item = i.row and t.tag {_any_of("value")}
    )""",
    "sure": f"{CERTAINTY} between ({_VALUE} ->> 0)::numeric and ({_VALUE} ->> 1)::numeric",
}
"""The condition for each operator on an attribute. The parameters `attribute` and `value` get a
number each."""

LINKED = f"""i.id in (
        with entity as materialized (
            select s.id
            from item s
            where s.tenant = %(tenant)s and s.kind = 'entity' and s.forgotten = 0 /* visible */
                and (
                    s.title {_any_of("value")}
                    or lower(s.title) {_any_of("value")}
                    or exists (
                        select 1
                        from jsonb_array_elements_text(s.attributes::jsonb -> 'aliases') alias
                        where lower(alias) {_any_of("value")}
                    )
                )
        )
        select l.target
        from entity
        join link l on l.source = entity.id
        where l.tenant = %(tenant)s and l.type = %(attribute)s
    )"""
"""The item is linked to by an entity of one of these names, by a link of this type."""

SORTS = {
    "created_at": ["i.seq"],
    "updated_at": ["i.updated_at"],
    "access_count": ["i.reads"],
    "last_accessed": ["i.last_read"],
    "title": ['lower(i.title collate "C")'],
    "certainty": [CERTAINTY, 'lower(i.title collate "C")'],
}
"""The orders that a list can have."""

_GLOB_PART = re.compile(r"\*|\?|\[[\^!]?\]?[^\]]*\]|.", re.DOTALL)


def visible(alias: str) -> str:
    """The condition that the caller may see an item."""
    return f"""(
        {alias}.owner = %(filter_user)s
        or {alias}.audience = 'org'
        or ({alias}.audience = 'project' and {alias}.project = cast(%(filter_project)s as text))
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
        values[f"attribute_{number}"] = test.name
        values[f"value_{number}"] = _attribute_value(test)
    if now is not None:
        parts.append(NOT_EXPIRED)
        values["filter_now"] = now
    return FilterSql("".join(f"\n    and {part}" for part in parts), values)


def sort_keys(sort: str) -> list[str]:
    """What a list is ordered by; what is equal stays in the order of creation."""
    keys = SORTS[sort]
    return keys if "i.seq" in keys else [*keys, "i.seq"]


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
    text = text.replace("%(attribute)s", f"%(attribute_{number})s")
    return text.replace("%(value)s", f"%(value_{number})s")


def _attribute_value(test: Condition) -> str:
    """The value as JSON; true is 1 there, as it is in `attribute`."""
    value: Json = test.value
    values = value if isinstance(value, list | tuple) else [value]
    if test.op == "glob":
        return json.dumps("|".join(_regular_expression(str(glob)) for glob in values))
    plain = [int(each) if isinstance(each, bool) else each for each in values]
    if test.op == "in":
        return json.dumps(plain, ensure_ascii=False)
    if values is value:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(plain[0], ensure_ascii=False)


def _regular_expression(glob: str) -> str:
    """A glob of SQLite as a regular expression of PostgreSQL."""
    parts = [_expression_of(part) for part in _GLOB_PART.findall(glob)]
    return f"^(?:{''.join(parts)})$"


def _expression_of(part: str) -> str:
    if part == "*":
        return ".*"
    if part == "?":
        return "."
    if len(part) == 1:
        return re.escape(part)
    # A set of characters: `[!a]` is written `[^a]`.
    return re.sub(r"^\[!", "[^", part).replace("\\", "\\\\")
