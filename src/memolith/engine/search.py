"""One search: candidates by words and by meaning, put in order and turned into hits."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from operator import mul
from typing import NamedTuple

from memolith.domain.callers import Caller
from memolith.domain.chunking import embedded
from memolith.domain.items import Item
from memolith.domain.passages import Passage, PassageRef, item_row_of, passage_ref
from memolith.domain.queries import Hit, Query
from memolith.engine.history import items_as_of
from memolith.engine.matching import checked, item_matches, passage_matches
from memolith.engine.validation import checked_text, when
from memolith.errors import InvalidInput
from memolith.ports.ranker import Asked, Evidence, Lexicon, Ranked, Ranker
from memolith.ports.store import Reader
from memolith.ports.text_index import Candidate
from memolith.ports.vectors import Meaning

MODES = ("hybrid", "vector", "text")
MAX_QUERY_LENGTH = 10_000
MAX_CANDIDATES_PER_SIDE = 1000
"""How many passages the search by words, and the search by meaning, propose at most."""
MAX_CANDIDATES_BY_MEANING = 100
"""The same for a search by meaning that has no threshold: beyond these nobody turns pages."""
MAX_RANKED_TOGETHER = 40
"""How many of the best candidates of each side are ranked together."""
MAX_WITH_NEIGHBOURS = 20
"""For how many of them the passages before and after are ranked, too."""
MAX_PHRASES = 50
"""How many quoted phrases a hit must have; a text with more quotes is no query by hand."""
MIN_STRONG_SIMILARITY = 0.79
COMMON_TERM_SHARE = 0.02
COMMON_TERM_PASSAGES = 2000
"""Terms in more passages than this, or than the share above, are too common to choose by."""
MAX_PAST_PASSAGES_EMBEDDED = 200
LOWEST_COSINE = -1.0
ROLES = frozenset(("user", "assistant", "system", "tool", "human", "ai", "developer"))
"""Names of speakers that say what they are, and not who."""
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"([^"]+)"')


class QueryVector(NamedTuple):
    """The query as a vector, and the model and the vectors that it is compared with."""

    meaning: Meaning
    vector: bytes


class Results(NamedTuple):
    """What a search found, in order."""

    ranked: list[Ranked]
    total: int
    """How many there are in all, with those that this page did not need."""
    is_cut: bool
    """Whether there are more candidates than were looked at."""


class Candidates(NamedTuple):
    """What both sides of a search propose, the best first."""

    by_words: list[Candidate]
    by_meaning: list[Candidate]

    def best(self, count: int) -> set[PassageRef]:
        """The best passages of each side."""
        found = {ref for ref, _ in self.by_words[:count]}
        found.update(ref for ref, _ in self.by_meaning[:count])
        return found


class Search:
    """One search inside one read transaction."""

    def __init__(
        self, rows: Reader, caller: Caller, query: Query, lexicon: Lexicon, ranker: Ranker
    ) -> None:
        self._rows = rows
        self._caller = caller
        self._query = query
        self._lexicon = lexicon
        self._ranker = ranker
        quoted = list(dict.fromkeys(_QUOTED.findall(query.text)))
        phrases = [lexicon.terms(text) for text in quoted[:MAX_PHRASES]]
        self._phrases = [phrase for phrase in phrases if phrase]
        terms = lexicon.query_terms(query.text)
        self._asked = Asked(
            query.text,
            tuple(terms),
            rows.statistics_for(caller, terms),
            _visible_speakers(rows, caller, query.text),
            frozenset(lexicon.terms(" ".join(query.boosted))),
            tuple(frozenset(lexicon.terms(name)) for name in query.entities),
        )
        self._query_vector: QueryVector | None = None
        self._items: dict[int, Item] = {}
        """The items that were read, by their rows."""
        self._passages: dict[PassageRef, Passage] = {}
        """The passages that were read."""
        self._cosines: dict[PassageRef, float] = {}
        """The cosines that are known."""

    @property
    def text_for_model(self) -> str:
        """The query without the names of speakers, which stand in every message of theirs."""
        text = self._query.text
        if self._query.verbatim:
            return text
        words = {word for name in self._asked.named for word in name.split()}
        for word in words:
            text = re.sub(rf"\b{re.escape(word)}('s)?\b", " ", text, flags=re.I)
        return " ".join(text.split()) or self._query.text

    def run(self, query_vector: QueryVector | None) -> Results:
        """Everything that the query finds; without a vector, by words only."""
        self._query_vector = query_vector
        query = self._query
        by_words: list[Candidate] = []
        if query.mode != "vector" or query_vector is None:
            by_words = self._find_by_words()
        min_cosine = self._min_cosine()
        by_meaning = self._find_by_meaning(min_cosine)
        if self._phrases:
            with_phrases = dict(by_words)
            by_meaning = [found for found in by_meaning if found[0] in with_phrases]
        ranked, unread = self._rank(Candidates(by_words, by_meaning))
        if query.as_of is not None:
            ranked = self._as_of(ranked, query.as_of)
        ranked = self._select(ranked)
        is_cut = len(by_words) >= MAX_CANDIDATES_PER_SIDE
        if min_cosine > LOWEST_COSINE and len(by_meaning) >= MAX_CANDIDATES_PER_SIDE:
            is_cut = True
        return Results(ranked, len(ranked) + unread, is_cut)

    def _min_cosine(self) -> float:
        """The cosine below which a passage cannot reach the threshold by meaning alone.

        A passage without the telling words is as similar as its vector says. That does not hold
        for the past, when the passage may have said something else.
        """
        if self._query.threshold and self._query.as_of is None:
            return self._ranker.cosine(self._query.threshold)
        return LOWEST_COSINE

    def _needs_all_candidates(self) -> bool:
        """Whether a page can only be filled once every candidate is ranked."""
        query = self._query
        return bool(query.threshold or query.by_similarity or query.per_item)

    def _find_by_meaning(self, min_cosine: float) -> list[Candidate]:
        if self._query_vector is None:
            return []
        limit = MAX_CANDIDATES_PER_SIDE
        if self._query.mode == "hybrid" and not self._needs_all_candidates():
            limit = MAX_CANDIDATES_BY_MEANING
        found = self._query_vector.meaning.vectors.nearest(
            self._rows,
            self._caller,
            self._query.filter,
            self._query_vector.vector,
            limit,
            min_cosine,
        )
        self._cosines = dict(found)
        return found

    def _find_by_words(self) -> list[Candidate]:
        """The passages with the telling words; very common words only count for the order."""
        frequencies = self._asked.statistics.frequencies
        known = [term for term in self._asked.terms if frequencies.get(term)]
        known.sort(key=lambda term: (frequencies[term], term))
        telling = self._telling_terms(known)
        if telling or self._phrases:
            found = self._search_text(telling, any_term=True)
            if found or self._phrases:
                return found
        common = [term for term in known if term not in telling]
        with_all = self._search_text(common, any_term=False)
        if len(with_all) >= MAX_RANKED_TOGETHER:
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

    def _search_text(self, terms: Sequence[str], any_term: bool) -> list[Candidate]:
        phrases = self._phrases if any_term else []
        return self._rows.search_text(
            self._caller,
            self._query.filter,
            terms,
            phrases,
            not any_term,
            MAX_CANDIDATES_PER_SIDE,
        )

    def _rank(self, candidates: Candidates) -> tuple[list[Ranked], int]:
        """The best of both sides ranked together, then the rest; and how many were left unread."""
        query = self._query
        first = self._ranked_first(candidates)
        pool = self._evidence(first)
        if query.mode == "hybrid":
            ranked = self._ranker.rank(self._asked, pool)
        else:
            ranked = self._judge(pool)
        rest = candidates.best(MAX_CANDIDATES_PER_SIDE) - first.keys()
        wanted = query.offset + query.limit
        may_stop = not self._needs_all_candidates() and query.as_of is None
        if may_stop and query.per_block:
            blocks = {(item_row_of(hit.ref), hit.passage.block) for hit in ranked}
            if wanted <= len(blocks):
                return ranked, self._rows.count_blocks(rest, blocks)
        elif may_stop and wanted <= len(ranked):
            return ranked, len(rest)
        return ranked + self._judge(self._evidence(self._read(rest))), 0

    def _ranked_first(self, candidates: Candidates) -> dict[PassageRef, Passage]:
        """The best candidates; in a hybrid search with the passages before and after."""
        if self._query.mode != "hybrid":
            return self._read(candidates.best(MAX_CANDIDATES_PER_SIDE))
        best = candidates.best(MAX_RANKED_TOGETHER)
        if self._phrases:
            return self._read(best)
        neighbours = set()
        for ref in candidates.best(MAX_WITH_NEIGHBOURS):
            for neighbour in (PassageRef(ref - 1), PassageRef(ref + 1)):
                if item_row_of(neighbour) == item_row_of(ref):
                    neighbours.add(neighbour)
        return {
            ref: passage
            for ref, passage in self._read(best | neighbours).items()
            if ref in best or passage_matches(passage, self._query.filter)
        }

    def _judge(self, pool: list[Evidence]) -> list[Ranked]:
        """Each candidate by itself, in the order of the mode."""
        judged = self._ranker.judge(self._asked, pool)
        if self._query.mode == "vector":
            judged = [self._by_cosine(hit) for hit in judged]
        elif self._query.mode == "text":
            judged = [hit._replace(order=hit.reasons["text"]) for hit in judged]
        return _in_order(judged)

    def _by_cosine(self, hit: Ranked) -> Ranked:
        cosine = hit.reasons.get("cosine")
        if cosine is None:
            return hit
        return hit._replace(order=cosine, similarity=self._ranker.similarity(cosine))

    def _read(self, refs: set[PassageRef]) -> dict[PassageRef, Passage]:
        """The passages with these references, in order; those that are gone are left out."""
        for ref, (item, passage) in self._rows.passages_at(refs - self._passages.keys()).items():
            self._items[item_row_of(ref)] = item
            self._passages[ref] = passage
        return {ref: self._passages[ref] for ref in sorted(refs & self._passages.keys())}

    def _evidence(self, passages: dict[PassageRef, Passage]) -> list[Evidence]:
        """The passages with all that their scores depend on."""
        if self._query_vector:
            # Passages of the past have negative references and are in no index.
            missing = {ref for ref in passages.keys() - self._cosines.keys() if ref >= 0}
            if missing:
                vectors = self._query_vector.meaning.vectors
                self._cosines |= vectors.cosines(self._rows, self._query_vector.vector, missing)
        terms = self._lexicon.terms
        extra = self._lexicon.extra
        evidence = []
        for ref, passage in passages.items():
            item = self._items[item_row_of(ref)]
            words = tuple(terms(f"{passage.text}\n{extra(item, passage)}"))
            evidence.append((ref, passage, words, self._cosines.get(ref)))
        return evidence

    def _select(self, ranked: list[Ranked]) -> list[Ranked]:
        """The hits above the threshold, and one for each item or block where asked."""
        query = self._query
        hits = [hit for hit in ranked if hit.similarity >= query.threshold]
        if query.by_similarity:
            hits.sort(key=lambda hit: (-hit.similarity, hit.ref))
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
        self._embed_past(past)
        past_hits = [
            hit
            for hit in self._judge(self._evidence(past))
            if hit.reasons["text"] or hit.reasons.get("cosine", 0.0) > 0
        ]
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

    def _embed_past(self, passages: dict[PassageRef, Passage]) -> None:
        """Make the vectors of past passages, which are stored nowhere; only of the first ones."""
        if self._query_vector is None:
            return
        texts = {}
        for ref, passage in islice(passages.items(), MAX_PAST_PASSAGES_EMBEDDED):
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
        wanted = {ref for refs in around.values() for ref in refs}
        passages = self._read(wanted) if wanted else {}
        hits = []
        for hit in ranked:
            reasons = {name: round(value, 4) for name, value in hit.reasons.items() if value}
            hits.append(
                Hit(
                    item=self._items[item_row_of(hit.ref)],
                    passage=hit.passage,
                    score=hit.similarity,
                    rank_score=round(hit.order, 4),
                    strength="strong" if hit.similarity >= MIN_STRONG_SIMILARITY else "weak",
                    reasons=reasons,
                    around=tuple(passages[ref] for ref in around[hit.ref] if ref in passages),
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
        not 1 <= query.limit <= MAX_CANDIDATES_PER_SIDE,
        "limit",
        f"The limit must lie between 1 and {MAX_CANDIDATES_PER_SIDE}.",
    )
    _refuse(query.offset < 0, "offset", "The offset cannot be negative.")
    _refuse(not 0 <= query.threshold <= 1, "threshold", "The threshold must lie between 0 and 1.")
    as_of = query.as_of
    if as_of is not None:
        as_of = when("as_of", as_of)
    return replace(query, filter=checked(query.filter), as_of=as_of)


def _refuse(is_wrong: bool, field: str, message: str) -> None:
    if is_wrong:
        raise InvalidInput(message, field=field)


def _visible_speakers(rows: Reader, caller: Caller, text: str) -> tuple[str, ...]:
    """The speakers that the text names, of those whose words the caller may see."""
    named = _named_speakers(text, rows.speakers(caller.tenant))
    return tuple(rows.visible_speakers(caller, named)) if named else ()


def _named_speakers(text: str, speakers: Iterable[str]) -> tuple[str, ...]:
    """The speakers of whose names a word stands in the text."""
    words = set(_WORD.findall(text.lower()))
    named = []
    for name in speakers:
        lowered = name.lower()
        if lowered not in ROLES and not words.isdisjoint(_WORD.findall(lowered)):
            named.append(name)
    return tuple(named)


def _in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda hit: (-hit.order, hit.ref))
