"""Searches by meaning run side by side, and a change runs alone."""

import threading

from memolith.retrieval.vectors.shared_lock import SharedLock

WAIT_S = 60.0


def test_readers_are_inside_together() -> None:
    lock = SharedLock()
    both = threading.Barrier(2)

    def read() -> None:
        with lock.shared():
            both.wait(WAIT_S)

    other = threading.Thread(target=read)
    other.start()
    read()
    other.join(WAIT_S)
    assert not both.broken


def test_a_writer_waits_for_readers_and_keeps_new_ones_out() -> None:
    lock = SharedLock()
    order: list[str] = []
    write_waits = threading.Event()

    def write() -> None:
        write_waits.set()
        with lock.exclusive():
            order.append("write")

    def read() -> None:
        with lock.shared():
            order.append("read")

    writer = threading.Thread(target=write)
    reader = threading.Thread(target=read)
    with lock.shared():
        writer.start()
        assert write_waits.wait(WAIT_S)
        while not lock.has_waiting_writer:
            pass
        reader.start()
        order.append("first")
    writer.join(WAIT_S)
    reader.join(WAIT_S)
    assert order == ["first", "write", "read"]
