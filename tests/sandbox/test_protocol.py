"""What a child sends is taken for a message only if it is one."""

import pytest

from memolith.sandbox.protocol import ChildOrder, Message, Question


def test_a_message_survives_its_line() -> None:
    message = Message(3, "done", "line\nbreak é")
    line = message.encode()
    assert line.count(b"\n") == 1
    assert Message.decode(line) == message


@pytest.mark.parametrize("line", ["", "garbage", "[1]", "7", '["1", "done", ""]', '[1, "done", 2]'])
def test_anything_else_is_no_message(line: str) -> None:
    with pytest.raises(ValueError):
        Message.decode(line)


@pytest.mark.parametrize("text", ["", "7", "[1, 2]", '["a"]', '["a", "b", "c"]'])
def test_anything_else_is_no_question(text: str) -> None:
    with pytest.raises(ValueError):
        Question.decode(text)


def test_a_question_and_an_order_survive_their_way() -> None:
    question = Question("ds-1", "a.txt")
    assert Question.decode(question.encode()) == question
    order = ChildOrder("landlock", "/tmp/x", memory_mb=64, scratch_mb=1, threads=2)
    assert ChildOrder.decode(order.encode()) == order
