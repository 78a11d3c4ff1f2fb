"""One search: candidates by words and by meaning, put in order and turned into hits."""

import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import mul
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.items import Item
from memolith.domain.passages import (
    Passage,
    PassageRef,
    item_row_of,
    ordinal_of,
    passage_ref,
)
from memolith.domain.queries import Filter, Hit, Query
from memolith.engine.funnel import Funnel
from memolith.engine.history import items_as_of
from memolith.engine.matching import checked, item_matches, passage_matches
from memolith.engine.newer_hits import MAX_COMPARED_HITS, DatedText, changed_by_newer
from memolith.engine.telemetry import step
from memolith.engine.validation import checked_text, when
from memolith.errors import InvalidInput
from memolith.ports.ranker import (
    NEAR_REACH,
    READ_TOGETHER,
    SESSION_REACH,
    Asked,
    Evidence,
    Judge,
    Lexicon,
    NamedSpeaker,
    Ranked,
    Ranker,
    Surroundings,
)
from memolith.ports.store import Reader
from memolith.ports.text_index import Candidate
from memolith.ports.vectors import Meaning

MODES = ("hybrid", "vector", "text")
MAX_QUERY_LENGTH = 10_000
MAX_LIMIT = 1000
"""The longest page of hits."""
CANDIDATES = (100, 400)
"""How many passages each side of a search proposes: first so many, then more for as long as the
last ones are still worth returning."""
MAX_CANDIDATES_PER_SIDE = CANDIDATES[-1]
LAST_SHARE = 0.25
"""If a quarter of this last part of a side is worth returning, more of it are looked at."""
MAX_WITH_NEIGHBOURS = 40
"""For how many of the best hits the passages before and after are hits, too."""
MIN_SHARE_OF_SUCCESSOR = 0.3
"""A newer hit takes the place of the one that it replaces if it has so much of its score."""
MAX_JUDGED = 20
"""How many of the best hits the judge of deep search reads."""
MAX_PERIODS = 4
MAX_CANDIDATES_BY_DATE = 20
"""How many periods that a query names are looked into, and how many passages each proposes."""
MAX_PHRASES = 50
"""How many quoted phrases count; a text with more quotes is no query by hand."""
MIN_WORD_CANDIDATES = 40
"""With fewer passages that have all of the common words, those with the rarest one are added."""
COMMON_TERM_SHARE = 0.02
COMMON_TERM_PASSAGES = 2000
"""Terms in more passages than this, or than the share above, are too common to choose by."""
MAX_PAST_PASSAGES_EMBEDDED = 200
MAX_WAITING_EMBEDDED = 16
"""How many of the best candidates by words get a vector for this search alone if theirs waits to be
made. Else whatever resembles the query by meaning would come before them."""
LOWEST_COSINE = -1.0
ROLES = frozenset(("user", "assistant", "system", "tool", "human", "ai", "developer"))
"""Names of speakers that say what they are, and not who."""


class QueryVector(NamedTuple):
    """The query as a vector, and the model and the vectors that it is compared with."""

    meaning: Meaning
    vector: bytes


class Results(NamedTuple):
    """What a search found, in order."""

    ranked: list[Ranked]
    is_cut: bool
    """Whether there are more candidates than were looked at."""


class Search:
    """One search inside one read transaction."""

    def __init__(
        self,
        rows: Reader,
        caller: Caller,
        query: Query,
        lexicon: Lexicon,
        ranker: Ranker,
        judge: Judge | None = None,
        funnel: Funnel | None = None,
    ) -> None:
        """With a judge, it reads the best hits; with a funnel, every step is counted there."""
        self._rows = rows
        self._caller = caller
        self._query = query
        self._lexicon = lexicon
        self._ranker = ranker
        self._judge = judge
        self._funnel = funnel or Funnel()
        self._threshold = query.threshold or 0.0
        self._asked = self._question()
        self._query_vector: QueryVector | None = None
        self._items: dict[int, Item] = {}
        """The items that were read, by their rows."""
        self._evidence: dict[PassageRef, Evidence] = {}
        """The passages that were read, with all that their scores depend on."""
        self._cosines: dict[PassageRef, float] = {}
        """The cosines that are known."""
        self._compared: set[PassageRef] = set()
        """The passages whose vectors were looked up; some have none."""
        self._best_by_words: set[PassageRef] = set()
        """The candidates that are compared by meaning even if their vectors wait to be made."""
        self._superseded: set[str] = set()
        """The items, of those that were read, that a newer one contradicts."""
        self._successors: dict[str, str] = {}
        """The newer ones of those that are marked as replaced."""
        self._sure: PassageRef | None = None
        """The best hit, if it is most likely right."""

    def _question(self) -> Asked:
        query = self._query
        lexicon = self._lexicon
        terms = lexicon.query_terms(query.text)
        quoted = self._ranker.quoted_phrases(query.text)[:MAX_PHRASES]
        phrases = [tuple(lexicon.phrase_terms(text)) for text in quoted]
        named = self._named_speakers()
        names = " ".join(f"{speaker.name} {speaker.written}" for speaker in named)
        return Asked(
            text=query.text,
            terms=tuple(terms),
            statistics=self._rows.statistics_for(self._caller, terms),
            named=named,
            boosted=frozenset(lexicon.terms(" ".join(query.boosted))),
            entities=tuple(frozenset(lexicon.terms(name)) for name in query.entities),
            phrases=tuple(phrase for phrase in phrases if phrase),
            name_terms=frozenset(lexicon.terms(names)),
            date_terms=self._date_terms(terms),
        )

    def _date_terms(self, terms: Sequence[str]) -> frozenset[str]:
        """The terms of the days and months that the query names; none if it has no others."""
        text = self._ranker.without_dates(self._query.text)
        if text == self._query.text:
            return frozenset()
        others = set(self._lexicon.query_terms(text)) & set(terms)
        return frozenset(terms) - others if others else frozenset()

    def _named_speakers(self) -> tuple[NamedSpeaker, ...]:
        """The speakers that the query names, of those whose words the caller may see."""
        people = [
            name for name in self._rows.speakers(self._caller.tenant) if name.lower() not in ROLES
        ]
        named = self._ranker.named_speakers(self._query.text, people)
        if not named:
            return ()
        visible = self._rows.visible_speakers(self._caller, [speaker.name for speaker in named])
        return tuple(speaker for speaker in named if speaker.name in visible)

    @property
    def text_for_model(self) -> str:
        """The query without the names of speakers, which stand in every message of theirs.

        Nor does it have dates: to the model, all days of a month are nearly the same.
        """
        text = self._query.text
        if self._query.verbatim or self._query.alike:
            return text
        text = self._ranker.without_dates(text)
        words = {
            word
            for speaker in self._asked.named
            for word in (*speaker.name.split(), *speaker.written.split())
        }
        for word in words:
            text = re.sub(rf"\b{re.escape(word)}('s)?\b", " ", text, flags=re.I)
        return " ".join(text.split()) or self._query.text

    def run(self, query_vector: QueryVector | None) -> Results:
        """Everything that the query finds; without a vector, by words only."""
        self._query_vector = query_vector
        if self._query.alike:
            return self._run_alike()
        scores, is_cut = self._candidate_scores()
        self._funnel.scored = len(scores)
        if self._query.as_of is None:
            self._score_changed(scores)
            ranked = _in_order(scores.values())
        else:
            ranked = self._as_of(_in_order(scores.values()), self._query.as_of)
        if self._judge is not None:
            ranked = self._judged(ranked, self._judge)
        if self._ranker.is_sure(ranked):
            # Of all that was scored, so that neither a page nor a threshold decides.
            self._sure = ranked[0].ref
        return Results(self._selected(ranked), is_cut)

    def _run_alike(self) -> Results:
        """What is like the text: by meaning, or by words where there is no vector."""
        if self._query_vector is None:
            found = self._find_by_words()
        else:
            min_cosine = self._ranker.cosine(self._threshold)
            found = self._find_by_meaning(self._query_vector, MAX_CANDIDATES_PER_SIDE, min_cosine)
        self._read({ref for ref, _ in found})
        ranked = self._ranker.by_similarity(self._asked, self._evidence)
        return Results(self._selected(ranked), len(found) >= MAX_CANDIDATES_PER_SIDE)

    @property
    def _mode(self) -> str:
        """How hits are scored: by words if there is no vector to compare with."""
        return self._query.mode if self._query_vector is not None else "text"

    def _candidate_scores(self) -> tuple[dict[PassageRef, Ranked], bool]:
        """The hits with their scores, and whether there may be more than were looked at.

        More and more candidates are looked at until those at the end are not worth returning. So
        the list is the same for every page of it.
        """
        by_words: list[Candidate] = []
        if self._mode != "vector":
            with step("search.by_words"):
                by_words = self._find_by_words()
        self._best_by_words = {ref for ref, _ in by_words[:MAX_WAITING_EMBEDDED]}
        scores: dict[PassageRef, Ranked] = {}
        by_meaning: list[Candidate] = []
        for size in CANDIDATES:
            if self._query_vector is not None and len(by_meaning) < size:
                by_meaning = self._find_by_meaning(self._query_vector, size)
            sides = [[ref for ref, _ in side[:size]] for side in (by_words, by_meaning)]
            self._funnel.by_words, self._funnel.by_meaning = map(len, sides)
            self._score({ref for side in sides for ref in side} - scores.keys(), scores)
            if size == CANDIDATES[0] and self._query_vector is not None:
                by_date = {ref for ref, _ in self._find_by_date(self._query_vector)}
                self._funnel.by_date = len(by_date)
                self._score(by_date - scores.keys(), scores)
            full = [side for side in sides if len(side) == size]
            if not any(self._ends_well(side, scores) for side in full):
                is_cut = bool(full) and self._threshold < self._ranker.floor
                self._add_neighbours(scores)
                return scores, is_cut
        self._add_neighbours(scores)
        return scores, True

    def _find_by_date(self, query_vector: QueryVector) -> list[Candidate]:
        """What was said on the days or in the months that the query names, the nearest first."""
        chosen = self._query.filter
        if chosen.since is not None or chosen.until is not None:
            return []
        years = sorted({int(evidence[1].at[:4]) for evidence in self._evidence.values()})
        found: list[Candidate] = []
        for first, last in self._ranker.named_days(self._query.text, years)[:MAX_PERIODS]:
            days = replace(chosen, since=f"{first}T00:00:00Z", until=f"{last}T23:59:59.999999Z")
            found += self._find_by_meaning(query_vector, MAX_CANDIDATES_BY_DATE, chosen=days)
        return found

    def _ends_well(self, side: Sequence[PassageRef], scores: Mapping[PassageRef, Ranked]) -> bool:
        """Whether the last candidates of a side are still worth returning."""
        last = side[-round(LAST_SHARE * len(side)) :]
        # Whatever the threshold, the same candidates are looked at, so that it only cuts the list.
        floor = self._ranker.floor
        good = sum(ref in scores and scores[ref].score >= floor for ref in last)
        return 4 * good >= len(last)

    def _score(self, refs: Collection[PassageRef], scores: dict[PassageRef, Ranked]) -> None:
        """Read candidates and what stands around them, and score them."""
        with step("search.read", passages=len(refs)):
            self._read(refs)
            present = [ref for ref in sorted(refs) if ref in self._evidence]
            self._read(self._neighbours(present, NEAR_REACH))
            self._compare({ref for one in present for ref in self._session_of(one)})
        with step("search.rank", passages=len(present)):
            ranked = self._ranker.rank(self._asked, self._mode, present, self._surroundings())
        scores.update((hit.ref, hit) for hit in ranked)

    def _surroundings(self) -> Surroundings:
        return Surroundings(self._evidence, self._cosines, self._superseded)

    def _session_of(self, ref: PassageRef) -> range:
        """The passages that are said around a passage, as far as they count."""
        last = self._items[item_row_of(ref)].passages - 1
        if last <= 1:
            return range(0)
        ordinal = ordinal_of(ref)
        first = ref - min(SESSION_REACH, ordinal)
        return range(first, ref + min(SESSION_REACH, last - ordinal) + 1)

    def _neighbours(self, refs: Iterable[PassageRef], reach: int) -> set[PassageRef]:
        """These passages, and those so far before and after in the same items."""
        neighbours: set[PassageRef] = set()
        for ref in refs:
            last = self._items[item_row_of(ref)].passages - 1
            if last > 0:
                ordinal = ordinal_of(ref)
                first = ref - min(reach, ordinal)
                end = ref + min(reach, last - ordinal) + 1
                neighbours.update(map(PassageRef, range(first, end)))
        return neighbours

    def _add_neighbours(self, scores: dict[PassageRef, Ranked]) -> None:
        """The passages around the best hits may be hits, too."""
        if self._query.mode != "hybrid":
            return
        best = _in_order(scores.values())[:MAX_WITH_NEIGHBOURS]
        around = self._neighbours((hit.ref for hit in best), 1) - scores.keys()
        self._read(around)
        chosen = self._query.filter
        fitting = {
            ref
            for ref in around & self._evidence.keys()
            if passage_matches(self._evidence[ref][1], chosen)
        }
        self._funnel.neighbours = len(fitting)
        self._score(fitting, scores)

    def _score_changed(self, scores: dict[PassageRef, Ranked]) -> None:
        """Score those anew that a newer hit changes, and that newer hit."""
        everything = Filter(forgotten=self._query.filter.forgotten)
        if self._query.filter == everything:
            changes = self._changes(dict(scores))
        else:
            # They are looked for among all that the caller sees, so that a filter changes no score.
            query = replace(self._query, filter=everything)
            search = Search(self._rows, self._caller, query, self._lexicon, self._ranker)
            search._query_vector = self._query_vector
            changes = search._changes(search._candidate_scores()[0])
        for ref, hit in changes.items():
            if ref in scores:
                scores[ref] = hit

    def _changes(self, scores: dict[PassageRef, Ranked]) -> dict[PassageRef, Ranked]:
        """The hits that a newer one changes and these newer ones, with their new scores."""
        best = [
            DatedText(hit.ref, hit.passage.at, hit.passage.text)
            for hit in _in_order(scores.values())[: 2 * MAX_COMPARED_HITS]
            if hit.score >= self._ranker.floor and self._is_alone(hit.ref)
        ]
        changed = self._marked_pairs(best, scores)
        changed |= changed_by_newer(self._asked.terms, best, self._lexicon.query_terms)
        items = {scores[ref].passage.item for ref in changed}
        # What the older ones would be worth; some are marked since they were replaced.
        self._superseded -= items
        self._score(changed.keys(), scores)
        before = {ref: scores[ref].score for ref in changed}
        self._superseded |= items
        self._score(changed.keys(), scores)
        changes: dict[PassageRef, Ranked] = {}
        for older, newer in changed.items():
            # It is about the same, so it answers as well; unless the past is asked for.
            if scores[older].reasons.get("superseded"):
                better = changes.get(newer, scores[newer])
                changes[newer] = better._replace(score=max(better.score, before[older]))
                changes.setdefault(older, scores[older])
        return changes

    def _marked_pairs(
        self, best: Sequence[DatedText], scores: Mapping[PassageRef, Ranked]
    ) -> dict[PassageRef, PassageRef]:
        """The hits that are marked as replaced by another one here, each with that one.

        A newer one that has far less to do with the question does not answer in its place.
        """
        refs = {scores[text.ref].passage.item: text.ref for text in best}
        pairs = {}
        for item, older in refs.items():
            newer = refs.get(self._successors.get(item, ""))
            if (
                newer is not None
                and scores[newer].score >= MIN_SHARE_OF_SUCCESSOR * scores[older].score
            ):
                pairs[older] = newer
        return pairs

    def _is_alone(self, ref: PassageRef) -> bool:
        """Whether it is the only passage of its item."""
        return self._items[item_row_of(ref)].passages == 1

    def _find_by_meaning(
        self,
        query_vector: QueryVector,
        limit: int,
        min_cosine: float = LOWEST_COSINE,
        chosen: Filter | None = None,
    ) -> list[Candidate]:
        with step("search.by_meaning", limit=limit):
            found = query_vector.meaning.vectors.nearest(
                self._rows,
                self._caller,
                chosen or self._query.filter,
                query_vector.vector,
                limit,
                min_cosine,
            )
        self._cosines.update(found)
        return found

    def _find_by_words(self) -> list[Candidate]:
        """The passages with the telling words; very common words only count for the order.

        Those that have a quoted phrase come first.
        """
        with_phrases: list[Candidate] = []
        if self._asked.phrases:
            with_phrases = self._search_text([], any_term=True, phrases=self._asked.phrases)
            if self._query.needs_phrases:
                return with_phrases
        present = dict(with_phrases)
        others = [found for found in self._find_by_terms() if found[0] not in present]
        return (with_phrases + others)[:MAX_CANDIDATES_PER_SIDE]

    def _find_by_terms(self) -> list[Candidate]:
        frequencies = self._asked.statistics.frequencies
        known = [term for term in self._asked.terms if frequencies.get(term)]
        known.sort(key=lambda term: (frequencies[term], term))
        telling = self._telling_terms(known)
        if telling:
            found = self._search_text(telling, any_term=True)
            if found:
                return found
        common = [term for term in known if term not in telling]
        if not common:
            return []
        with_all = self._search_text(common, any_term=False)
        if len(with_all) >= MIN_WORD_CANDIDATES:
            return with_all
        if with_all and self._query.mode == "hybrid":
            return with_all
        present = dict(with_all)
        with_rarest = self._search_text(common[:1], any_term=True)
        return with_all + [found for found in with_rarest if found[0] not in present]

    def _telling_terms(self, rarest_first: Sequence[str]) -> list[str]:
        """The terms that are rare enough to choose by."""
        passages, _, frequencies = self._asked.statistics
        limit = max(COMMON_TERM_PASSAGES, COMMON_TERM_SHARE * passages)
        telling = []
        total = 0
        for term in rarest_first:
            # Several that are nearly too common cost as much together as one that is.
            if total + frequencies[term] <= limit:
                telling.append(term)
                total += frequencies[term]
        return telling

    def _search_text(
        self,
        terms: Sequence[str],
        any_term: bool,
        phrases: Sequence[Sequence[str]] = (),
    ) -> list[Candidate]:
        return self._rows.search_text(
            self._caller,
            self._query.filter,
            terms,
            phrases,
            not any_term,
            MAX_CANDIDATES_PER_SIDE,
        )

    def _read(self, refs: Collection[PassageRef]) -> None:
        """Read passages with all that their scores depend on; those that are gone are left out."""
        missing = set(refs) - self._evidence.keys()
        if not missing:
            return
        found = self._rows.passages_at(missing)
        self._compare(found.keys())
        ids = {item.id for item, _ in found.values()}
        marks = self._rows.superseded(self._caller.tenant, ids)
        self._superseded.update(marks)
        self._successors.update((item, mark.by) for item, mark in marks.items())
        for ref, (item, _) in found.items():
            self._items[item_row_of(ref)] = item
        waiting = found.keys() & (self._best_by_words - self._cosines.keys())
        self._embed({ref: found[ref][1] for ref in sorted(waiting)})
        for ref, (item, passage) in found.items():
            self._take(ref, item, passage)

    def _compare(self, refs: Iterable[int]) -> None:
        """Compare the vectors of passages with the query, as far as that was not done yet."""
        if self._query_vector is None:
            return
        # Passages of the past have negative references and are in no index.
        unknown = {PassageRef(ref) for ref in refs if ref >= 0} - self._compared
        unknown -= self._cosines.keys()
        if unknown:
            self._compared |= unknown
            vectors = self._query_vector.meaning.vectors
            self._cosines |= vectors.cosines(self._rows, self._query_vector.vector, unknown)

    def _take(self, ref: PassageRef, item: Item, passage: Passage) -> None:
        text = f"{passage.text}\n{self._lexicon.extra(item, passage)}"
        words = tuple(self._lexicon.terms(text))
        self._evidence[ref] = (ref, passage, words, self._cosines.get(ref))

    def _judged(self, ranked: list[Ranked], judge: Judge) -> list[Ranked]:
        """The best hits as the judge sees them; no other one may come before them."""
        best = ranked[:MAX_JUDGED]
        self._funnel.judged = len(best)
        with step("search.judge", passages=len(best)):
            verdicts = judge.judge(self._query.text, [self._text_for_judge(hit) for hit in best])
        read = []
        for hit, verdict in zip(best, verdicts, strict=True):
            score = self._ranker.deepened(hit.score, verdict)
            read.append(hit._replace(score=score, reasons={**hit.reasons, READ_TOGETHER: verdict}))
        lowest = min((hit.score for hit in read), default=0.0)
        rest = [hit._replace(score=min(hit.score, lowest)) for hit in ranked[MAX_JUDGED:]]
        return _in_order(read) + rest

    def _text_for_judge(self, hit: Ranked) -> str:
        title = self._items[item_row_of(hit.ref)].title
        return embedded(title, hit.passage.speaker, hit.passage.text)

    def _selected(self, ranked: list[Ranked]) -> list[Ranked]:
        """The hits that are worth returning, and one for each item or block where asked."""
        query = self._query
        hits = [hit for hit in ranked if hit.score >= self._threshold]
        self._funnel.below = [hit for hit in ranked if hit.score < self._threshold]
        if query.needs_phrases and self._asked.phrases:
            with_phrases = [hit for hit in hits if hit.reasons.get("quoted words") == 1.0]
            self._funnel.unquoted = len(hits) - len(with_phrases)
            hits = with_phrases
        self._funnel.ranked = len(hits)
        if query.per_block:
            first_of_block: dict[tuple[int, int], Ranked] = {}
            for hit in hits:
                first_of_block.setdefault((item_row_of(hit.ref), hit.passage.block), hit)
            return list(first_of_block.values())
        if query.per_item:
            first_of_item: dict[int, Ranked] = {}
            for hit in hits:
                first_of_item.setdefault(item_row_of(hit.ref), hit)
            return list(first_of_item.values())
        return hits

    def _as_of(self, ranked: list[Ranked], at: str) -> list[Ranked]:
        """The hits at a past time: unchanged items from the index, the others from their log."""
        changed = set(self._rows.streams(self._caller.tenant, at))
        unchanged_hits = [hit for hit in ranked if hit.passage.item not in changed]
        past = self._past_passages(changed, at)
        self._embed(dict(islice(past.items(), MAX_PAST_PASSAGES_EMBEDDED)))
        for ref, passage in past.items():
            self._take(ref, self._items[item_row_of(ref)], passage)
        past_hits = self._ranker.rank(self._asked, self._mode, past.keys(), self._surroundings())
        return _in_order(unchanged_hits + past_hits)

    def _past_passages(self, ids: set[str], at: str) -> dict[PassageRef, Passage]:
        """The passages of these items at that time; their references are negative."""
        found = {}
        row = 0
        for item, passages in items_as_of(self._rows, self._caller, ids, at).values():
            if not item_matches(item, self._query.filter):
                continue
            row -= 1
            self._items[row] = item
            for passage in passages:
                if passage_matches(passage, self._query.filter):
                    found[passage_ref(row, passage.ordinal)] = passage
        return found

    def _embed(self, passages: Mapping[PassageRef, Passage]) -> None:
        """Compare passages with the query whose vectors are stored nowhere."""
        if self._query_vector is None or not passages:
            return
        texts = {}
        for ref, passage in passages.items():
            title = self._items[item_row_of(ref)].title
            texts[ref] = embedded(title, passage.speaker, passage.text)
        vectors = self._query_vector.meaning.embedder.embed(list(texts.values()))
        query_numbers = array("f", self._query_vector.vector)
        for ref, vector in zip(texts, vectors, strict=True):
            if vector is not None:
                self._cosines[ref] = sum(map(mul, query_numbers, array("f", vector)))

    def hits(self, ranked: Sequence[Ranked]) -> tuple[Hit, ...]:
        """Ranked passages as the caller sees them, each with the passages around it where asked."""
        around = {hit.ref: self._refs_around(hit) for hit in ranked}
        self._read({ref for refs in around.values() for ref in refs})
        hits = []
        for hit in ranked:
            reasons = {name: round(value, 4) for name, value in hit.reasons.items()}
            shown = [ref for ref in around[hit.ref] if ref in self._evidence]
            hits.append(
                Hit(
                    item=self._items[item_row_of(hit.ref)],
                    passage=hit.passage,
                    score=hit.score,
                    strength=self._ranker.strength(hit.score, hit.ref == self._sure),
                    reasons=reasons,
                    around=tuple(self._evidence[ref][1] for ref in shown),
                )
            )
        return tuple(hits)

    def _refs_around(self, hit: Ranked) -> list[PassageRef]:
        """The passages within the reach of a hit, itself included; none where nobody asked."""
        if not self._query.reach:
            return []
        item = self._items[item_row_of(hit.ref)]
        # Where no message was split, the next passage is the next message.
        reach = min(self._query.reach, 1 + item.passages - item.blocks)
        first = hit.ref - min(reach, hit.passage.ordinal)
        return [PassageRef(ref) for ref in range(first, hit.ref + reach + 1)]


def check_query(query: Query) -> Query:
    """The query with its times in our one form; a query that cannot be answered is refused."""
    checked_text("query", query.text)
    _refuse(
        query.mode not in MODES,
        "mode",
        f"There is no mode {query.mode!r}; use one of {', '.join(MODES)}.",
    )
    _refuse(not query.text.strip(), "query", "There is nothing to search for.")
    _refuse(
        len(query.text) > MAX_QUERY_LENGTH,
        "query",
        f"A query has at most {MAX_QUERY_LENGTH:,} characters.",
    )
    _refuse(
        query.as_of is not None and bool(query.filter.where),
        "as_of",
        "The past is not searched by metadata or links.",
    )
    _refuse(
        not 1 <= query.limit <= MAX_LIMIT,
        "limit",
        f"The limit must lie between 1 and {MAX_LIMIT}.",
    )
    _refuse(query.offset < 0, "offset", "The offset cannot be negative.")
    threshold = query.threshold
    _refuse(
        threshold is not None and not 0 <= threshold <= 1,
        "threshold",
        "The threshold must lie between 0 and 1.",
    )
    as_of = query.as_of
    if as_of is not None:
        as_of = when("as_of", as_of)
    return replace(query, filter=checked(query.filter), as_of=as_of)


def _refuse(is_wrong: bool, field: str, message: str) -> None:
    if is_wrong:
        raise InvalidInput(message, field=field)


def _in_order(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda hit: (-hit.score, hit.ref))
