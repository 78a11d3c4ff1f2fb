"""Gemini: the activity that Google Takeout gives out, and the sessions of Gemini CLI.

Activity holds single questions with their answers. It does not say which belong together, so each
is a chat of its own.
"""

from html.parser import HTMLParser

from memolith.engine.chat_formats.turns import (
    ChatKey,
    JsonObject,
    Report,
    Turn,
    as_object,
    first_text,
)

PRODUCTS = ("Gemini Apps", "Bard")
PROMPT_PREFIX = "Prompted "
CLI_ROLES = {"user": "user", "gemini": "assistant"}
LINE_TAGS = ("p", "br", "li", "h1", "h2", "h3", "h4", "tr", "pre", "div")
SOURCE = "gemini"


class _Text(HTMLParser):
    """Collects the text of an answer, which is HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LINE_TAGS:
            self.pieces.append("\n")
        if tag == "li":
            self.pieces.append("- ")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)


def is_gemini_activity(value: JsonObject) -> bool:
    return value.get("header") in PRODUCTS and "time" in value


def read_gemini_activity(value: JsonObject, report: Report) -> list[Turn]:
    """The question of an entry and its answer; what is no question is skipped."""
    title = first_text(value, "title")
    if not title.startswith(PROMPT_PREFIX):
        report["skipped: an activity that is no prompt"] += 1
        return []
    prompt = title.removeprefix(PROMPT_PREFIX)
    time = value.get("time")
    key = ChatKey(f"{time}: {prompt[:100]}", 0)
    turns = [Turn(SOURCE, key, "", "user", time, prompt, {})]
    listed = value.get("safeHtmlItem")
    for item in listed if isinstance(listed, list) else []:
        answer = _plain(first_text(as_object(item), "html"))
        turns.append(Turn(SOURCE, key, "", "assistant", time, answer, {}))
    return turns


def _plain(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = [line.strip() for line in "".join(parser.pieces).splitlines()]
    return "\n".join(line for line in lines if line)


def is_gemini_session(value: JsonObject) -> bool:
    messages = value.get("messages")
    if "sessionId" not in value or not isinstance(messages, list) or not messages:
        return False
    return "type" in as_object(messages[0])


def read_gemini_session(value: JsonObject, number: int, report: Report) -> list[Turn]:
    """What was said in a session of Gemini CLI; notices and tools are skipped."""
    key = ChatKey(first_text(value, "sessionId"), number)
    turns = []
    messages = value["messages"]
    for message in map(as_object, messages if isinstance(messages, list) else []):
        type = first_text(message, "type")
        if type not in CLI_ROLES:
            report[f"skipped: a message of type {type[:40]}"] += 1
            continue
        content = message.get("content")
        role = CLI_ROLES[type]
        turns.append(Turn(SOURCE, key, "", role, message.get("timestamp"), content, {}))
    return turns
