"""Words of other scripts as the text index knows them.

The tokenizer of FTS5 stems English, and cuts words of other scripts at the marks in them. Here
each script gets what its languages need: one spelling for letters that are written in several ways,
marks that stay inside their words, and words without their endings.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

JOINERS = "\u200c\u200d"
"""Characters without width inside words of Arabic and Indian scripts."""

_CYRILLIC = "\u0400-\u0481\u0483-\u0487\u048a-\u052f"
_GREEK = "\u0370-\u0373\u0376-\u037d\u037f\u0386-\u03ff\u1f00-\u1fff"
_HEBREW = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u05d0-\u05ea"
_ARABIC = (
    "\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06ff"
    "\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc"
)
_INDIAN = "\u0900-\u0963\u0971-\u0dff"
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
)
"""Thai, Lao, Burmese and Khmer, which have no blanks between words."""
LETTERS = _CYRILLIC + _GREEK + _HEBREW + _ARABIC + _INDIAN + _UNSPACED
"""The letters and marks of all these scripts, for a set in a regular expression."""

_DIGITS = (
    "\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0a66-\u0a6f\u0ae6-\u0aef\u0be6-\u0bef"
    "\u0c66-\u0c6f\u0ce6-\u0cef\u0d66-\u0d6f\u0e50-\u0e59\u0ed0-\u0ed9\u1040-\u1049\u17e0-\u17e9"
)
_OTHER_DIGIT = re.compile(f"[{_DIGITS}]")
_SPECIAL_LATIN = "ıİđĐłŁøØß"
_LATIN_TO_FOLD = re.compile(f"[{_SPECIAL_LATIN}]")
_SPECIAL = re.compile(f"[{LETTERS}{_DIGITS}{_SPECIAL_LATIN}ğĞşŞ]")
_FOREIGN_RUN = re.compile(f"([{LETTERS}][{LETTERS}{JOINERS}\u0301]*)")
_RUN = re.compile(
    f"(?P<cyrillic>[{_CYRILLIC}][{_CYRILLIC}\u0301]*)"
    f"|(?P<greek>[{_GREEK}]+)"
    f"|(?P<hebrew>[{_HEBREW}]+)"
    f"|(?P<arabic>[{_ARABIC}]+)"
    f"|(?P<indian>[{_INDIAN}][{_INDIAN}{JOINERS}]*)"
    f"|(?P<unspaced>[{_UNSPACED}]+)"
)
_PLAIN_LETTERS = str.maketrans(
    {"ı": "i", "İ": "I", "đ": "d", "Đ": "D", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "ß": "ss"}
)
"""Latin letters that Unicode does not take apart, though people type them without their marks."""
_BETWEEN_WORDS = " \t\n.,;:!?-–—…«»\"'“”()،؟؛।"


def is_special(text: str) -> bool:
    """Whether a text has anything that is treated here."""
    return _SPECIAL.search(text) is not None


def plain_letters(text: str) -> str:
    """Return a text with Latin letters as people type them on any keyboard, and our digits."""
    if _LATIN_TO_FOLD.search(text):
        # To look first takes a tenth of the time, and most texts have none of these letters.
        text = text.translate(_PLAIN_LETTERS)
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.digit(digit.group())), text)


def mixed_terms(text: str, tokens: Callable[[str], list[str]]) -> list[str]:
    """Return the index terms of a text in any scripts; `tokens` cuts what is Latin."""
    found: list[str] = []
    is_foreign = False
    for piece in _FOREIGN_RUN.split(text):
        # Every second piece is foreign.
        if is_foreign:
            found += _words_of(piece)
        else:
            latin = piece.strip(_BETWEEN_WORDS)
            if latin:
                found += tokens(latin)
        is_foreign = not is_foreign
    return found


@lru_cache(20_000)
def _words_of(piece: str) -> tuple[str, ...]:
    """The index terms of a piece in other scripts; most often it is one word."""
    words: list[str] = []
    for match in _RUN.finditer(piece):
        assert match.lastgroup is not None, "every part of the pattern has a name"
        words += _WORDS_OF_SCRIPT[match.lastgroup](match.group())
    return tuple(word for word in words if word)


def pairs(run: str) -> list[str]:
    """Return overlapping pairs of characters, for text without blanks between its words."""
    return [run[start : start + 2] for start in range(max(1, len(run) - 1))]


def _without_marks(word: str) -> str:
    """A word without what stands above and below its letters."""
    parts = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


# Cyrillic

_REFLEXIVE = re.compile(r"(?<=.{3})(?:ся|сь)$")
_CYRILLIC_ENDING = re.compile(
    "(?:"
    # Nouns in all their cases.
    "иями|ями|ами|иях|иям|ием|ией|ьев|ию|ия|ии|ие|ях|ям|ах|ам|ов|ев|ей|ью|ья|ье|ьи"
    # Adjectives and participles.
    "|ыми|ими|ого|его|ому|ему|ую|юю|ая|яя|ое|ее|ые|ых|их|ый|ий|ой|ым|им|ом|ем|ою|ею"
    # Ukrainian.
    "|ові|еві|ів|їв|ої|ій|і|ї"
    "|а|я|о|е|у|ю|ы|и|ь|й|ъ"
    ")$"
)
_CYRILLIC_VERB_ENDING = re.compile(
    "(?:ать|ять|еть|ить|уть|ал|ял|ел|ил|ул|ает|яет|ует|еет|ают|яют|уют|еют|ешь|ишь|ет|ит|ут|ют|ат|ят"
    "|ати|ити|ув|ав|ив)$"
)


def _cyrillic(word: str) -> list[str]:
    folded = word.replace("\u0301", "").lower().replace("ё", "е")
    stem = _without_ending(_REFLEXIVE.sub("", folded), _CYRILLIC_ENDING, MIN_STEM)
    return [_without_all_endings(stem, (_CYRILLIC_ENDING, _CYRILLIC_VERB_ENDING))]


# Greek

_GREEK_ENDING = re.compile(
    "(?:"
    "ματων|ματοσ|ματα|μα"
    "|ουνται|ονται|ομαι|εσαι|εται|ουμε|ουσαν|ουσε|ετε|ατε|αμε|ουν|εισ|ει"
    "|θηκαν|θηκε|ηκαν|ηκε|ησαν|ησει|ησε|ωσει|ωσε"
    "|ιων|εων|εωσ|ιου|ουσ|οσ|ου|ον|οι|ων|ασ|εσ|ησ|ισ|αν|εν|ια|ιο|α|ε|η|ι|ο|υ|ω|σ"
    ")$"
)


def _greek(word: str) -> list[str]:
    folded = _without_marks(word.casefold())
    stem = _without_ending(folded, _GREEK_ENDING, MIN_STEM)
    return [_without_all_endings(stem, (_GREEK_ENDING,))]


# Arabic and Hebrew

_ARABIC_MARKS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8]")
_ARABIC_LETTERS = str.maketrans(
    {
        "أ": "ا",
        "إ": "ا",
        "آ": "ا",
        "ٱ": "ا",
        "ى": "ي",
        "ی": "ي",
        "ئ": "ي",
        "ؤ": "و",
        "ة": "ه",
        "ک": "ك",
        "گ": "ك",
    }
)
_ARABIC_ARTICLE = re.compile("^(?:وال|بال|كال|فال|ولل|ال|لل)(?=..)")
_ARABIC_AND = re.compile("^و(?=...)")
_ARABIC_ENDING = re.compile("(?:هما|كما|هم|هن|كم|نا|ها|ان|ات|ون|ين|يه|وا|ه|ي|ك|ا|ت)$")


def _arabic(word: str) -> list[str]:
    plain = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", word)).translate(_ARABIC_LETTERS)
    stem = _ARABIC_ARTICLE.sub("", plain)
    if stem == plain:
        stem = _ARABIC_AND.sub("", plain)
    stem = _without_ending(stem, _ARABIC_ENDING, MIN_STEM)
    return [_without_all_endings(stem, (_ARABIC_ENDING,))]


def _hebrew(word: str) -> list[str]:
    return [_without_marks(word)]


# Indian scripts

_NUKTAS = "\u093c\u09bc\u0a3c\u0abc\u0b3c"
_INDIAN_LETTERS = str.maketrans({"\u0901": "\u0902"} | dict.fromkeys(_NUKTAS + JOINERS))
"""Dots below a letter are left out as often as written, and ँ and ं stand for the same."""
_HINDI_ENDING = re.compile(
    "(?:ाइयों|ाइयां|ियों|ियां|ाओं|ाएं|ुओं|ुएं|ाया|ाना|ाने|ानी|ाई|ाए|ता|ते|ती|ना|ने|नी|ओं|एं)$"
)
_HINDI_VOWEL_ENDING = re.compile("[\u0902\u093e-\u094c]+$")
MIN_HINDI_STEM = 2


def _indian(word: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", word).translate(_INDIAN_LETTERS)
    stem = _without_ending(plain, _HINDI_ENDING, MIN_STEM)
    return [_without_ending(stem, _HINDI_VOWEL_ENDING, MIN_HINDI_STEM)]


# Scripts without blanks

_TONE_MARKS = re.compile("[\u0e47-\u0e4e\u0ec8-\u0ecd]")


def _unspaced(run: str) -> list[str]:
    return pairs(_TONE_MARKS.sub("", run))


# Turkish, which is written in Latin letters

_TURKISH_LETTER = re.compile("[ğĞıİşŞ]")
_TURKISH_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_WORDS = frozenset(
    "the of and is are was were to with for from did does what who when where why how that".split()
)
_TURKISH_WORDS = frozenset("nerede nereye nedir hangi kadar neden bir için nasıl".split())
WORDS_PER_TURKISH_LETTER = 10
"""In a Turkish text, at least one of so many words has a letter that only Turkish has."""
_TURKISH_ENDING = re.compile(
    "(?:"
    # Plural, possession and case.
    "l[ae]r|[iu]?m[iu]z|[iu]?n[iu]z|s[iu]|[iu]m|[iu]n|n[iu]n|n[iu]|y[iu]|[dt][ae]n|[dt][ae]|nd[ae]n"
    "|nd[ae]|n[ae]|y[ae]|yl[ae]|l[ae]|ki|[iu]|[ae]"
    # Verbs.
    "|[iu]yor|[dt][iu]|m[iu]s|[ae]c[ae][kg]|[ae]c[ae]|m[ae]l[iu]|m[ae]k|m[ae]|[iu]l|[iu]k|[iu]z|k"
    ")$"
)


def has_turkish_letters(text: str) -> bool:
    """Whether a text has a letter that hardly any language but Turkish has."""
    return _TURKISH_LETTER.search(text) is not None


def is_turkish(text: str) -> bool:
    """Whether a text looks Turkish by its letters and small words, and not English with a name."""
    words = _TURKISH_WORD.findall(text)
    small = {word.lower() for word in words}
    if not _ENGLISH_WORDS.isdisjoint(small):
        return False
    if not _TURKISH_WORDS.isdisjoint(small):
        return True
    marked = sum(_TURKISH_LETTER.search(word) is not None for word in words)
    return 0 < len(words) <= marked * WORDS_PER_TURKISH_LETTER


def turkish_stems(text: str) -> list[str]:
    """Return the stems of the words of a Turkish text, in order."""
    return [_turkish_stem(word) for word in _TURKISH_WORD.findall(text)]


_HARD_ENDS = str.maketrans("bdg", "ptk")


@lru_cache(20_000)
def _turkish_stem(word: str) -> str:
    folded = _without_marks(word.translate(_PLAIN_LETTERS).casefold())
    stem = _without_all_endings(folded, (_TURKISH_ENDING,))
    # "kitap" becomes "kitabı".
    return stem[:-1] + stem[-1:].translate(_HARD_ENDS)


# Endings

MIN_STEM = 3
MIN_LONG_STEM = 4
"""What must be left of a word that has lost one ending already."""


def _without_ending(word: str, ending: re.Pattern[str], min_stem: int) -> str:
    """A word without the longest ending that leaves enough of it."""
    match = ending.search(word, min_stem)
    return word[: match.start()] if match else word


def _without_all_endings(word: str, endings: tuple[re.Pattern[str], ...]) -> str:
    """A word without anything that looks like an ending.

    Only so do all forms of a word meet: "проблем" looks as if it ended in "ем", and "проблема" must
    lose that, too.
    """
    while True:
        shorter = word
        for ending in endings:
            shorter = _without_ending(shorter, ending, MIN_LONG_STEM)
        if shorter == word:
            return word
        word = shorter


_WORDS_OF_SCRIPT: dict[str, Callable[[str], list[str]]] = {
    "cyrillic": _cyrillic,
    "greek": _greek,
    "hebrew": _hebrew,
    "arabic": _arabic,
    "indian": _indian,
    "unspaced": _unspaced,
}
