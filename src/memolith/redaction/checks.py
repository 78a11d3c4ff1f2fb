"""What a pattern cannot say about a secret: check digits, and whether characters look random.

A rule of rules.toml names one of these functions. Each gets the text, and where the secret begins
and ends in it.
"""

import re
from collections.abc import Callable
from typing import Final

Check = Callable[[str, int, int], bool]

WORDS = re.compile(
    r"(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,}+(?![a-z])|[A-Z]{3,}+|\d{1,4}+(?!\d)|[\W_]"
    r"|(?<![A-Za-z0-9])[A-Za-z](?![A-Za-z0-9]))++"
)
"""What people write: words in small letters, in capitals or in CamelCase, and short numbers.

Random characters almost surely have a single letter between two others of another kind.
"""

HARMLESS_NUMBER = re.compile(
    r"(?i)(?:order|bestell\w*|id|no|nr|invoice|ticket|tracking|isbn|ean|gtin|imei|phone|tel|serial"
    r"|ref|reference|timestamp|time|ts|offset|size|bytes|sku)"
    r"""(?:[ _-]?number)?["']?[\s.:#=]{1,4}["']?\Z"""
)
"""A label that says that the number after it is no card number."""

BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

CHARS_BEFORE_NUMBER: Final = 24

CARD_GROUPS = ("4444", "464", "465", "44443")
"""How cards print their digits; a number without gaps is one group."""


def has_digit(text: str, start: int, end: int) -> bool:
    """Whether the secret has a digit, as nearly every random token has."""
    return any(character.isdigit() for character in text[start:end])


def mixed(text: str, start: int, end: int) -> bool:
    """Whether the secret has capitals, small letters and digits."""
    secret = text[start:end]
    return not secret.islower() and not secret.isupper() and has_digit(text, start, end)


def random(text: str, start: int, end: int) -> bool:
    """Whether the secret looks random, not like words."""
    return WORDS.fullmatch(text, start, end) is None


def card_number(text: str, start: int, end: int) -> bool:
    """Whether digits are the number of a payment card: issuer, length, gaps and check digit."""
    number = text[start:end]
    digits = number.replace(" ", "").replace("-", "")
    if not _is_issued(digits) or not _has_check_digit(digits):
        return False
    if digits == number:
        before = text[max(0, start - CHARS_BEFORE_NUMBER) : start]
        return HARMLESS_NUMBER.search(before) is None
    return _has_usual_gaps(number)


def base58_checksum(text: str, start: int, end: int) -> bool:
    """Whether the last four bytes of a base58 number are the checksum of the others."""
    # hashlib loads OpenSSL, which a hook must not wait for.
    import hashlib

    number = 0
    for character in text[start:end]:
        number = number * 58 + BASE58.index(character)
    decoded = number.to_bytes((number.bit_length() + 7) // 8, "big")
    digest = hashlib.sha256(hashlib.sha256(decoded[:-4]).digest()).digest()
    return digest[:4] == decoded[-4:]


def _is_issued(digits: str) -> bool:
    """Whether a network issues such numbers: Visa, Mastercard, Amex, Discover, JCB and others."""
    prefix = int(digits[:4])
    if digits[:2] in ("34", "37"):
        return len(digits) == 15
    if digits[:2] in ("36", "38", "39") or 3000 <= prefix <= 3059:
        return len(digits) == 14
    if digits[:2] == "62":
        return 16 <= len(digits) <= 19
    if digits[0] == "4":
        return len(digits) in (16, 19)
    is_issuer = 2221 <= prefix <= 2720 or 5100 <= prefix <= 5599 or 3528 <= prefix <= 3589
    is_discover = prefix == 6011 or 6440 <= prefix <= 6599
    return len(digits) == 16 and (is_issuer or is_discover)


def _has_check_digit(digits: str) -> bool:
    """The formula of Luhn: every second digit from the right counts twice."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        if place % 2:
            value = value * 2 - 9 * (value > 4)
        total += value
    return total % 10 == 0 and len(set(digits)) > 1


def _has_usual_gaps(number: str) -> bool:
    gaps = set(number) & {" ", "-"}
    if len(gaps) != 1:
        return False
    groups = "".join(str(len(group)) for group in number.split(gaps.pop()))
    return groups in CARD_GROUPS


CHECKS: Final[dict[str, Check]] = {
    "has_digit": has_digit,
    "mixed": mixed,
    "random": random,
    "card_number": card_number,
    "base58_checksum": base58_checksum,
}
"""The checks by the names that rules.toml uses."""
