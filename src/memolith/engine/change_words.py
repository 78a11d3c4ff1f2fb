"""English words that tell what a short text states, and whether it states a change."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILLERS = _words(
    """
    a an the this that these those our my your his her its their of to in on at by for with from as
    and or so just very really please note reminder fyi update updated new current currently still
    also will be been being has have had do does did is are was were am it there here per each
    every about up than then that's it's please ok okay remember info information today actually
    now already again only exactly approximately roughly around officially always usually every
    back off into onto over must should can may might would could get gets got set
    until till below above under least most if else
    """
)
"""Words that say nothing about the subject of a text."""

PRONOUNS = _words("i we you he she they it")

ADDITIONS = _words("also too additionally another besides both moreover plus further")
"""With one of these, a text adds to what was said before and does not replace it."""

BE_VERBS = _words("is are am be been was were will remains remain became becomes become")

STATE_VERBS = {
    "live": "home",
    "lives": "home",
    "living": "home",
    "reside": "home",
    "resides": "home",
    "based": "home",
    "located": "home",
    "work": "work",
    "works": "work",
    "employed": "work",
    "use": "use",
    "uses": "use",
    "using": "use",
    "run": "use",
    "runs": "use",
    "hosted": "use",
    "deployed": "use",
    "deploy": "use",
    "deploys": "use",
    "stored": "use",
    "store": "use",
    "stores": "use",
    "written": "use",
    "built": "use",
    "track": "use",
    "tracked": "use",
    "chose": "use",
    "prefer": "prefer",
    "prefers": "prefer",
    "drive": "prefer",
    "drives": "prefer",
    "allow": "amount",
    "allows": "amount",
    "cost": "amount",
    "costs": "amount",
    "take": "amount",
    "takes": "amount",
    "weigh": "amount",
    "weighs": "amount",
    "has": "amount",
    "have": "amount",
    "pay": "amount",
    "pays": "amount",
    "earn": "amount",
    "earns": "amount",
    "hold": "amount",
    "holds": "amount",
    "support": "amount",
    "supports": "amount",
    "require": "amount",
    "requires": "amount",
    "need": "amount",
    "needs": "amount",
    "last": "amount",
    "lasts": "amount",
    "keep": "amount",
    "keeps": "amount",
    "kept": "amount",
    "retain": "amount",
    "retained": "amount",
    "limited": "amount",
    "expire": "amount",
    "expires": "amount",
    "listens": "amount",
    "start": "time",
    "starts": "time",
    "begin": "time",
    "begins": "time",
    "end": "time",
    "ends": "time",
    "happen": "time",
    "happens": "time",
    "open": "time",
    "opens": "time",
    "close": "time",
    "closes": "time",
    "leave": "time",
    "leaves": "time",
    "depart": "time",
    "departs": "time",
    "arrive": "time",
    "arrives": "time",
    "due": "time",
    "scheduled": "time",
    "planned": "time",
    "meet": "time",
    "meets": "time",
    "eat": "other",
    "eats": "other",
    "drink": "other",
    "drinks": "other",
    "like": "other",
    "likes": "other",
    "love": "other",
    "loves": "other",
    "enjoy": "other",
    "enjoys": "other",
    "want": "other",
    "wants": "other",
    "know": "other",
    "knows": "other",
    "play": "other",
    "plays": "other",
    "speak": "other",
    "speaks": "other",
    "own": "role",
    "owns": "role",
    "lead": "role",
    "leads": "role",
    "manage": "role",
    "manages": "role",
    "maintain": "role",
    "maintains": "role",
    "handles": "role",
}
"""Verbs of the present, each with what it speaks of. Texts with verbs of the past tell of events,
which do not replace one another."""

CHANGE_VERBS = {
    "moved": "home use time",
    "moves": "home use time",
    "moving": "home use time",
    "relocated": "home",
    "joined": "work",
    "switched": "use prefer work",
    "switching": "use prefer",
    "migrated": "use",
    "migrating": "use",
    "adopted": "use",
    "changed": "use time amount prefer be",
    "changes": "use time amount prefer be",
    "renamed": "be",
    "rescheduled": "time",
    "postponed": "time",
    "pushed": "time",
    "delayed": "time",
    "shifted": "time",
    "raised": "amount",
    "increased": "amount",
    "rose": "amount",
    "went": "amount",
    "grew": "amount",
    "lowered": "amount",
    "decreased": "amount",
    "reduced": "amount",
    "dropped": "amount",
    "cut": "amount",
    "doubled": "amount",
    "extended": "amount time",
    "shortened": "amount time",
    "bumped": "amount",
    "upgraded": "amount use",
    "downgraded": "amount use",
    "updated": "amount time be",
}
"""Verbs of change, each with what they can change."""

LEAVING = (
    "no longer",
    "not anymore",
    "instead of",
    "rather than",
    "replaced",
    "replaces",
    "replacing",
    "switched from",
    "switched away from",
    "moved from",
    "moved away from",
    "moved off",
    "migrated from",
    "migrated off",
    "migrated away from",
    "changed from",
    "renamed from",
    "stopped using",
    "stopped",
    "dropped",
    "quit",
    "left",
    "gave up",
    "got rid of",
    "took over from",
    "broke up with",
    "abandoned",
    "retired",
    "sold",
    "used to",
)
"""What stands before the thing that is no longer so."""

CANCELLED = _words("cancelled canceled cancels scrapped withdrawn obsolete void aborted")

OPPOSITES = (
    (
        _words("open unresolved pending outstanding unsolved unfixed broken failing fails wip"),
        _words("closed resolved done fixed solved finished completed passing works merged shipped"),
    ),
    (_words("open opened"), _words("closed shut")),
    (_words("enabled on active running online up"), _words("disabled off inactive stopped down")),
    (_words("online reachable available"), _words("offline unreachable unavailable")),
    (_words("single unmarried"), _words("married engaged")),
    (_words("married"), _words("divorced separated widowed")),
    (_words("public"), _words("private")),
    (_words("approved accepted"), _words("rejected declined refused denied")),
    (_words("unpaid"), _words("paid")),
    (_words("blocked"), _words("unblocked")),
    (_words("allowed permitted"), _words("forbidden prohibited banned")),
    (_words("optional"), _words("mandatory required")),
    (_words("free"), _words("taken occupied booked")),
    (_words("vegetarian vegan"), _words("meat")),
    (_words("required mandatory"), _words("optional unnecessary")),
    (_words("supported"), _words("unsupported deprecated")),
    (_words("dark"), _words("light")),
    (_words("tabs"), _words("spaces")),
)
"""Words that cannot both be true of one thing at a time."""

ATTRIBUTES = _words(
    """
    colour color name password port address email mail phone number limit timeout deadline owner
    lead leader manager boss capital language framework database editor branch region plan size
    version price rent salary budget birthday anniversary status default favourite favorite
    preferred supervisor maintainer host provider bank doctor dentist school landlord tenant
    title nickname headquarters office seat room venue location place city country employer job
    model theme font licence license theme indent indentation formatter linter runner bundler
    runtime cloud vendor supplier contact assignee reviewer approver captain coach teacher chair
    president mayor ceo cto url domain hostname endpoint
    """
)
"""Nouns for what a thing has only one of."""

WEEKDAYS = _words(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays "
    "thursdays fridays saturdays sundays"
)

MONTHS = _words(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)

PAST_VERBS = _words(
    """
    ran went ate met saw bought paid spent wrote had took made came gave found told said thought
    drove flew swam slept felt heard held kept knew brought began drank fell fought forgot got
    grew hid hit hurt led lost sent sang sat spoke stood stole taught wore won did was were rode
    broke caught chose cooked hung lent read
    """
)

NUMBERS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
}

_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
CHANGE_CUE = re.compile(
    r"\b(now|no longer|any ?more|no more|instead|from now on|as of|with effect|effective"
    r"|correction:|restated|turned out|after all|used to|(is|are) back|again"
    rf"|since (today|yesterday|this|last|the|{_WEEKDAY})"
    rf"|(from|starting|beginning) (today|tomorrow|this|next|{_WEEKDAY}|{_MONTH}"
    rf"|\d{{1,2}}(st|nd|rd|th)? ({_MONTH}))"
    r"|chang(ed|es)|mov(ed|es)|switch(ed|es)|swapped|rais(ed|es)|lower(ed|s)|reduced|increased"
    r"|doubled|postponed|rescheduled|renamed|replaced|migrated|becomes|became|cancell?ed|called off"
    r"|stopped|quit|(has|have) left|(is|are) (down|up) to|(went|gone|goes) (up|down)"
    r"|pushed (back|to)|brought forward|took over|takes over|retired)\b"
    r"|^new\b",
    re.I,
)
"""What a text says that announces something new."""

ORDINALS = {
    "first": "1",
    "1st": "1",
    "q1": "1",
    "second": "2",
    "2nd": "2",
    "q2": "2",
    "third": "3",
    "3rd": "3",
    "q3": "3",
    "fourth": "4",
    "4th": "4",
    "q4": "4",
}
"""Words that count things through; with different ones, two texts speak of two things."""

LABELS = _words(
    """
    port room version level floor code pin gate platform seat table channel extension building
    page number ticket issue bug invoice order chapter sprint step task flight line release
    """
)
"""What a number after it is the name of, not the amount."""
