"""How the conditions of a filter are written for SQLite; see `FilterPieces`."""

import json

from memolith.domain.attributes import Json
from memolith.domain.queries import Condition
from memolith.storage.filters import FilterPieces
from memolith.storage.rows import Parameter, json_text

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

ONE_KIND = "i.kind = :filter_kind"

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


def visible(alias: str) -> str:
    """The condition that the caller may see an item."""
    return f"""(
        {alias}.owner = :filter_user
        or {alias}.audience = 'org'
        or ({alias}.audience = 'project' and {alias}.project = cast(:filter_project as text))
    )"""


def within_projects(alias: str) -> str:
    """The condition that an item is in no other project than those the caller is kept to."""
    return f"""(
        {alias}.project is null
        or {alias}.project in (select value from json_each(:filter_bound_to))
    )"""


SORTS = {
    "created_at": ["i.seq"],
    "updated_at": ["i.updated_at"],
    "access_count": ["i.reads"],
    "last_accessed": ["i.last_read"],
    "title": ["lower(i.title)"],
    "certainty": [CERTAINTY, "lower(i.title)"],
}


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


def _parameter(name: str) -> str:
    return f":{name}"


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
