"""All of memory behind one value: the verbs, the past, the search and the upkeep."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from memolith.engine import context
from memolith.engine.chunks import chunk
from memolith.engine.configuration import Configuration
from memolith.engine.duplicates import NEAR, overlap, similar
from memolith.engine.events import join_blocks
from memolith.engine.graph import MOST, Neighbourhood, explore
from memolith.engine.insights import Insights
from memolith.engine.intake import Intake, Limits
from memolith.engine.matching import checked
from memolith.engine.model import Caller, Direction, Draft, Filter, Found, Similar, Written
from memolith.engine.past import Past
from memolith.engine.ports import Analyst, Cipher, Clock, Reader, Store
from memolith.engine.recall import Query, Recall
from memolith.engine.upkeep import Upkeep
from memolith.engine.vault import Vault
from memolith.engine.verbs import Verbs


def missing() -> NoReturn:
    """Stands for a part that this engine was made without."""
    raise AssertionError("this engine was made without that part")


class Engine(Verbs):
    """What the surfaces call."""

    def __init__(self, store: Store, clock: Clock, limits: Limits = Limits(), secrets: str = "redact",
                 search: Recall | None = None, after_erase: Callable[[], None] = lambda: None,
                 cipher: Callable[[], Cipher] = missing, analysts: Sequence[Analyst] = (),
                 manual: Callable[[], Caller] = missing) -> None:
        super().__init__(store, clock, limits, secrets)
        self.past = Past(self)
        self.upkeep = Upkeep(self)
        self.configuration = Configuration(self)
        self.vault = Vault(self, cipher)
        self.manual = manual
        """Whose memory the documentation is; it is learned when first asked for, and anew when it changes."""
        self.started = time.monotonic()
        self.search = search
        if search:
            self.insights = Insights(self, search, analysts)
        self._after_erase = after_erase

    def recall(self, caller: Caller, query: Query) -> Found:
        """One page of hits, best first."""
        return self._search.recall(caller, query)

    def context(self, caller: Caller, text: str, budget: int, chosen: Filter = Filter()) -> context.Pack:
        """The best passages that fit into a budget of tokens, with their sources."""
        return context.pack(self._search, caller, text, budget, chosen)

    def similar(self, caller: Caller, text: str, threshold: float = 0.9, chosen: Filter = Filter(),
                limit: int = 10) -> list[Similar]:
        """Items that say nearly the same as the text."""
        return similar(self._search, self.store, caller, text, threshold, chosen, limit)

    def explore(self, caller: Caller, id: str, depth: int = 1, types: Collection[str] = (),
                toward: Direction = Direction.BOTH, chosen: Filter = Filter(), most: int = MOST) -> Neighbourhood:
        """Everything within so many links of an item, itself first."""
        with self.store.reading(caller.tenant) as rows:
            return explore(rows, caller, id, depth, types, toward, chosen, most)

    def counts(self, caller: Caller, by: str, chosen: Filter = Filter()) -> dict[str, int]:
        """How many items the caller sees per kind, status, namespace, project or tag."""
        with self.store.reading(caller.tenant) as rows:
            return rows.counts(caller, checked(chosen), by)

    def health(self) -> dict[str, str]:
        """How the parts are; asking starts to load the model."""
        with self.store.reading(None) as rows:
            waiting = rows.outbox_counts()
        pending = waiting.get(("embed", "pending"), 0)
        failed = waiting.get(("embed", "failed"), 0)
        embeddings = self.search.state() if self.search else "off"
        return {"store": "healthy", "embeddings": embeddings, "pending": str(pending), "failed": str(failed)}

    def model(self) -> str:
        """The name of the model that makes vectors."""
        return self.search.model() if self.search else "none"

    def accesses(self, caller: Caller, ids: Sequence[str]) -> dict[str, tuple[int, str]]:
        """How often and when last the items were read, those counted and not yet written included."""
        with self.store.reading(caller.tenant) as rows:
            found = rows.access(caller.tenant, ids)
        for id in ids:
            if id in (waiting := self._reads.get(caller.tenant, {})):
                found[id] = (found.get(id, (0, ""))[0] + waiting[id][0], waiting[id][1])
        return found

    def forget_all(self, caller: Caller, ids: Sequence[str], kind: str) -> list[str]:
        """Forget those of the items that are there and of the kind, all at once; returns which."""
        with self.store.writing(caller.tenant) as rows:
            found = rows.items(caller.tenant, ids)
            gone = [item for item in found.values()
                    if item.kind == kind and item.scope.admits(caller) and not item.forgotten]
            for item in gone:
                self._change(rows, caller, item, "forgotten", {})
        return [item.id for item in gone]

    def remember(self, caller: Caller, draft: Draft, key: str | None = None,
                 check: Callable[[Reader], None] | None = None) -> Written:
        """Keep something new, and tell what was there already in nearly the same words."""
        written = super().remember(caller, draft, key, check)
        if len(draft.blocks) != 1:
            return written
        near = self._near(caller, written, draft.blocks[0].text)
        return replace(written, similar=(*written.similar, *near)) if near else written

    def learn(self, caller: Caller, drafts: Iterable[Draft]) -> None:
        """Remember all of these at once, unless the tenant has something already."""
        with self.store.reading(caller.tenant) as before:
            known = before.last_seq(caller.tenant)
        if not known:
            with self.store.writing(caller.tenant) as rows:
                for draft in drafts if not rows.last_seq(caller.tenant) else ():
                    self.remember_in(rows, caller, draft, Intake(self.limits, "allow"))

    def erase(self, caller: Caller, id: str) -> bool:
        """Remove every byte of the item for good, from every file; False if a reader still holds old pages."""
        clean = super().erase(caller, id)
        self._after_erase()
        return clean

    @property
    def _search(self) -> Recall:
        assert self.search is not None, "this engine was made without a search"
        return self.search

    def _near(self, caller: Caller, written: Written, text: str) -> Sequence[Similar]:
        """Items that share most of their word sequences with a new one."""
        known = {written.item.id, *(same.id for same in written.similar)}
        with self.store.reading(caller.tenant) as rows:
            ids = set(rows.alike(caller, chunk(text)[0], Filter(kinds=(written.item.kind,)))) - known
            if not ids:
                return []
            found, titles = rows.passages_of(caller.tenant, ids), rows.items(caller.tenant, ids)
        shares = {id: overlap(text, "".join(block.text for block in join_blocks(passages)))
                  for id, passages in found.items()}
        return [Similar(id, titles[id].title, round(share, 3), exact=False)
                for id, share in sorted(shares.items(), key=lambda pair: (-pair[1], pair[0])) if share >= NEAR]
