"""Words of other languages: how they become terms, how texts are cut, and what search finds."""

from itertools import cycle, islice

import pytest
from bench.languages import (
    LANGUAGES,
    WORLDS_IN_LANGUAGES,
    score_of_fts5,
    score_of_memolith,
)
from hypothesis import example, given
from hypothesis import strategies as st

from memolith.bootstrap import App
from memolith.domain import chunking
from memolith.domain.chunking import (
    CHUNKER,
    FIRST_CHUNKER,
    TARGET_TOKENS,
    chunk,
    passage_size,
    weigh,
)
from memolith.domain.events import Data, Event
from memolith.domain.fold import Replay
from memolith.domain.items import Patch
from memolith.domain.passages import Block
from memolith.retrieval.ranking.phrases import phrase_share
from memolith.storage.terms import first_terms, phrase_terms, query_terms, sketch, terms
from tests.conftest import ME, note

STORED_SKETCH = (-810540310494339984, 83312925, 4848380940, 10057132052, 13937972759)
"""What stores hold of a text since their first version."""


@pytest.mark.parametrize("language", [*LANGUAGES, *WORLDS_IN_LANGUAGES])
def test_search_by_words_is_at_least_as_good_as_plain_fts5(language: str) -> None:
    plain = score_of_fts5(language)
    ours = score_of_memolith(language)
    assert ours.first >= plain.first
    assert ours.in_three >= plain.in_three
    assert ours.mrr >= plain.mrr


def test_seven_languages_are_measured() -> None:
    assert {"ar", "el", "hi", "ru", "th", "tr", "vi"} <= set(LANGUAGES)


@pytest.mark.parametrize(
    "text",
    [
        "Please plan the meetings with Erin's running partners in 2024.",
        "The naïve café — it “worked”… didn't it? 🙂☀️",
        "Erdoğan is the president of Turkey, and his party has won",
        "señor, coração, Größe",
        "東京タワー・スカイツリーは高い 한국어 단어",
    ],
)
def test_terms_of_english_and_of_what_was_good_before_stay_as_they_were(text: str) -> None:
    plain = text.replace("ğ", "g").replace("ß", "ss")
    assert terms(text) == first_terms(plain)


@pytest.mark.parametrize(
    ("form", "other"),
    [
        ("проблема", "проблем"),
        ("неделя", "недели"),
        ("материалов", "материал"),
        ("Ёлка", "елки"),
        ("за́мок", "замок"),
        ("работает", "работали"),
        ("квартиры", "квартирой"),
        ("διαμέρισμα", "διαμερίσματος"),
        ("ΓΙΑΤΡΟΣ", "γιατρού"),
        ("πόλεις", "πόλη"),
        ("إيجار", "ايجار"),
        ("المكتبة", "مكتبه"),
        ("مُحَمَّد", "محمد"),
        ("كتــــاب", "كتاب"),
        ("والشقة", "شقة"),
        ("الأسنان", "اسنان"),
        ("دانش‌آموزی", "دانش‌آموزي"),
        ("किताबें", "किताब"),
        ("दाँत", "दांत"),
        ("फ़ोन", "फोन"),
        ("गाड़ियों", "गाड़ी"),
        ("١٢٣", "123"),
        ("१२३", "123"),
        ("đường", "duong"),
        ("Łódź", "Lodz"),
        ("Straße", "Strasse"),
    ],
)
def test_forms_of_a_word_share_a_term(form: str, other: str) -> None:
    assert terms(form) == terms(other)


@pytest.mark.parametrize(
    ("form", "other"),
    [
        ("стол", "стул"),
        ("мода", "модель"),
        ("дом", "дым"),
        ("كتاب", "كلب"),
        ("सेना", "से"),
        ("πόλη", "πόλεμος"),
    ],
)
def test_other_words_have_other_terms(form: str, other: str) -> None:
    assert terms(form) != terms(other)


def test_indian_marks_stay_inside_their_words() -> None:
    assert len(terms("हिन्दी में लिखी किताबें")) == 4


def test_thai_becomes_pairs_of_letters_and_loses_its_tone_marks() -> None:
    assert terms("ค่าน้ำ") == terms("คานำ")
    assert len(terms("ค่าน้ำ")) == 3


def test_turkish_keeps_its_words_and_adds_their_stems() -> None:
    found = terms("Kütüphane kitapları ağaçların altında")
    assert found[: len(first_terms("Kütüphane kitaplari ağaçlarin altinda"))] == first_terms(
        "Kütüphane kitaplari ağaçlarin altinda"
    )
    assert "kitap" in found
    assert "kitap" in terms("Kitabı aldın mı?")


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("kitapları ağaçların", "Kütüphane kitapları ağaçların altında"),
        ("ค่าเช่า", "เจ้าของห้องขึ้นค่าเช่าตั้งแต่เดือนมีนาคม"),
        ("три яблони", "Посадили три яблони в саду"),
        ("red frame", "The red frame of the bicycle"),
    ],
)
def test_the_terms_of_a_phrase_stand_together_in_its_text(phrase: str, text: str) -> None:
    assert phrase_share(terms(text), [phrase_terms(phrase)]) == 1


def test_turkish_capitals_with_and_without_a_dot_are_one_letter() -> None:
    assert set(terms("istanbul")) <= set(terms("İSTANBUL"))
    assert set(query_terms("ISPARTA ılık")) & set(terms("ısparta")) != set()


def test_a_query_in_any_language_drops_its_small_words() -> None:
    assert query_terms("Где лежат книги?") == terms("лежат книги")
    assert query_terms("किताबें कहाँ हैं?") == terms("किताबें")
    assert query_terms("что где когда") == terms("что где когда")


def test_a_query_with_a_foreign_name_stays_english() -> None:
    assert query_terms("What did Erdoğan say?") == ["erdogan", "sai"]


def test_sketches_do_not_change_with_the_terms() -> None:
    assert sketch("Три яблони стоят у старого дома") == STORED_SKETCH


# Cutting


SENTENCE = {
    "ru": "Мы поехали на озеро ранним утром и вернулись только поздним вечером домой. ",
    "el": "Πήγαμε στη λίμνη νωρίς το πρωί και γυρίσαμε αργά το βράδυ στο σπίτι. ",
    "ar": "ذهبنا إلى البحيرة في الصباح الباكر وعدنا إلى البيت في المساء. ",
    "hi": "हम सुबह जल्दी झील पर गए और देर शाम को ही घर लौटे। ",
    "th": "เราไปทะเลสาบแต่เช้าและกลับบ้านตอนค่ำ ",
    "vi": "Chúng tôi đi ra hồ từ sáng sớm và chỉ trở về nhà vào tối muộn. ",
}


@pytest.mark.parametrize("language", SENTENCE)
def test_a_text_of_another_script_is_cut_as_coarsely_as_an_english_one(language: str) -> None:
    text = SENTENCE[language] * 40
    pieces = chunk(text)
    assert "".join(pieces) == text
    assert all(passage_size(piece) <= TARGET_TOKENS for piece in pieces)
    assert sum(map(len, pieces)) / len(pieces) > 400
    assert len(pieces) < len(chunk(text, FIRST_CHUNKER))


@pytest.mark.parametrize("version", [FIRST_CHUNKER, CHUNKER])
def test_english_is_cut_alike_in_every_version(version: int) -> None:
    text = "We went to the lake early, “as always”, and came back late - at 9:30 p.m.! " * 30
    assert chunk(text, version) == chunk(text, FIRST_CHUNKER)


def test_hindi_is_cut_at_the_ends_of_sentences() -> None:
    pieces = chunk(SENTENCE["hi"] * 40)
    assert all(piece.endswith("। ") for piece in pieces)


PARTS_OF_SENTENCES = (
    " ",
    "   ",
    "\t",
    "a",
    "-",
    "no",
    "eleven",
    "wonderful",
    "9:30",
    "été",
    "日本",
    "न\u0949",
)


@pytest.mark.parametrize("version", [FIRST_CHUNKER, CHUNKER])
@given(
    parts=st.lists(
        st.sampled_from([*PARTS_OF_SENTENCES, "x" * 900, " " * 500]), min_size=1, max_size=40
    ),
    words=st.integers(250, 900),
)
@example(parts=["no "], words=450)
@example(parts=["  eleven", "-"], words=450)
def test_a_long_sentence_is_cut_as_if_its_words_were_weighed_one_by_one(
    version: int, parts: list[str], words: int
) -> None:
    sentence = "".join(islice(cycle(parts), words))
    one_by_one = list(chunking._cut_word_by_word(sentence, chunking._WAYS[version]))
    assert list(chunking._cut(sentence, chunking._WAYS[version])) == one_by_one


@pytest.mark.parametrize("version", [FIRST_CHUNKER, CHUNKER])
def test_a_sentence_of_short_words_is_cut_after_so_many_tokens(version: int) -> None:
    pieces = list(chunking._cut("no " * 450, chunking._WAYS[version]))
    assert [len(piece.split()) for piece in pieces] == [200, 200, 50]


def test_chinese_counts_a_character_as_a_token() -> None:
    assert passage_size("我们去了湖边") == weigh("我们去了湖边") == 6


@pytest.mark.parametrize("version", [FIRST_CHUNKER, CHUNKER])
def test_a_stored_text_stays_cut_as_its_event_says(version: int) -> None:
    text = SENTENCE["ru"] * 40
    data: Data = {
        "kind": "memory",
        "title": "",
        "status": "active",
        "owner": "local",
        "audience": "user",
        "blocks": [{"text": text}],
        "chunker": version,
    }
    event = Event("local", 1, "a", 1, "remembered", data, "local", "2026-01-01T00:00:00Z", None)
    passages = Replay.of([event]).passages
    assert [passage.text for passage in passages] == chunk(text, version)


def test_a_new_text_is_cut_in_the_present_way(app: App) -> None:
    text = SENTENCE["ru"] * 40
    id = app.engine.writing.remember(ME, note(text)).item.id
    app.engine.writing.revise(ME, id, Patch(blocks=(Block("short"),)))
    app.engine.history.undo(ME, 2)
    with app.store.reading("local") as rows:
        passages = rows.passages("local", id)
    assert [passage.text for passage in passages] == chunk(text, CHUNKER)
