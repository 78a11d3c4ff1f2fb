"""How the conditions of a filter are written for PostgreSQL; see `FilterPieces`."""

import json
import re

from memolith.domain.attributes import Json
from memolith.domain.queries import Condition
from memolith.storage.filters import FilterPieces


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

PASSAGE_CONDITIONS = CONDITIONS | {
    "since": "p.at >= %(filter_since)s",
    "until": "p.at <= %(filter_until)s",
    "speakers": f"p.speaker {_any_of('filter_speakers')}",
}

ONE_KIND = "i.kind = %(filter_kind)s"

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

SORTS = {
    "created_at": ["i.seq"],
    "updated_at": ["i.updated_at"],
    "access_count": ["i.reads"],
    "last_accessed": ["i.last_read"],
    "title": ['lower(i.title collate "C")'],
    "certainty": [CERTAINTY, 'lower(i.title collate "C")'],
}

_GLOB_PART = re.compile(r"\*|\?|\[[\^!]?\]?[^\]]*\]|.", re.DOTALL)


def visible(alias: str) -> str:
    """The condition that the caller may see an item."""
    return f"""(
        {alias}.owner = %(filter_user)s
        or {alias}.audience = 'org'
        or ({alias}.audience = 'project' and {alias}.project = cast(%(filter_project)s as text))
    )"""


def within_projects(alias: str) -> str:
    """The condition that an item is in no other project than those the caller is kept to."""
    return f"({alias}.project is null or {alias}.project {_any_of('filter_bound_to')})"


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


def _attribute_name(test: Condition) -> str:
    return test.name


def _parameter(name: str) -> str:
    return f"%({name})s"


FILTER_PIECES = FilterPieces(
    conditions=CONDITIONS,
    passage_conditions=PASSAGE_CONDITIONS,
    one_kind=ONE_KIND,
    not_expired=NOT_EXPIRED,
    attribute_conditions=ATTRIBUTE_CONDITIONS,
    linked=LINKED,
    visible=visible,
    within_projects=within_projects,
    sorts=SORTS,
    parameter=_parameter,
    attribute_name=_attribute_name,
    attribute_value=_attribute_value,
)
