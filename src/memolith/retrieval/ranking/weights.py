"""The weights of ranking: how much each sign of a good hit counts.

A hit gets its place by the sum of its text score (0 to about 1), its cosine (0 to 1) and the boosts
below. After a change, `python -m bench.retrieval` tells whether hits got better.
"""

BM25_K1 = 0.9
"""How soon a word that comes again stops adding to the text score."""

BM25_B = 0.4
"""How much long passages are held back: 0 not at all, 1 in proportion to their length."""

BOOSTED_TERM_WEIGHT = 1.5
"""Terms that the caller boosts count this many times."""

TEXT_SHARE_OF_SIMILARITY = 0.6
"""How far a full match of words closes the gap that the cosine leaves to a similarity of 1."""

ANSWER_WEIGHT = 0.5
"""A passage after a question gets this share of the question's score: it may be the answer."""

PREVIOUS_NEIGHBOUR_WEIGHT = 0.1
"""A passage gets this share of the score of the passage before it."""

NEXT_NEIGHBOUR_WEIGHT = 0.1
"""A passage gets this share of the score of the passage after it."""

SPEAKER_WEIGHT = 0.2
"""A passage said by the only person whom the question names."""

DATE_WEIGHT = 0.2
"""A passage of the day, month or year that the question names; it fades with the distance."""

DATE_FADE_DAYS = 14
"""After this many days the weight of dates has fallen to 37 %."""

TIME_WORDS_WEIGHT = 0.1
"""A passage with words of time, such as "yesterday", where the question asks when."""

ENTITY_WEIGHT = 0.5
"""A passage with all entities of the question; with some of them, in proportion."""

GROUP_WEIGHT = 0.3
"""An item with several good passages lifts them all, by this share of their scores."""

GROUP_DECAY = 0.5
"""Each further passage of an item counts this share of the one before it."""

GROUP_PASSAGES = 5
"""So many passages of an item count."""
