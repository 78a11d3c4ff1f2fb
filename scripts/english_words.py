"""Writes the commonest English terms, the commonest first, from the vocabulary of the model.

The vocabulary lists words by how often they occur in English text. `make snap` need not run this:
the file changes only with the vocabulary or the stemming.
"""

from pathlib import Path

from memolith.retrieval.embedding.minilm import MODEL_FOLDER, VOCAB_FILE
from memolith.retrieval.ranking.english_words import FILE
from memolith.storage.terms import terms

FIRST_WORD = 1996
"""Before it the vocabulary has signs and single letters."""

WORDS = 6000


def main() -> None:
    lines = (MODEL_FOLDER / VOCAB_FILE).read_text(encoding="utf-8").splitlines()[FIRST_WORD:]
    words = [word for word in lines if word.isascii() and word.isalpha() and len(word) > 1]
    stems = dict.fromkeys(stem for word in words[:WORDS] for stem in terms(word))
    Path(FILE).write_text("\n".join(stems) + "\n", encoding="utf-8", newline="\n")
    print(f"{len(stems)} terms")


if __name__ == "__main__":
    main()
