"""Made-up text for samples of secrets: `{alnum:36}` becomes 36 random letters and digits.

The same sample is the same text in every run, and no tool that scans the repository for secrets finds
one in it.
"""

import random
import re
import string

ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "letters": string.ascii_letters,
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "upper": string.ascii_uppercase + "234567",
    "lower": string.ascii_lowercase + string.digits,
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "base64": string.ascii_letters + string.digits + "+/",
    "urlsafe": string.ascii_letters + string.digits + "_-",
}
PLACEHOLDER = re.compile(r"\{(" + "|".join(ALPHABETS) + r"):(\d+)\}")


def filled(sample: str, seed: str = "") -> str:
    """The sample with random characters in place of its placeholders."""

    def made_up(placeholder: re.Match[str]) -> str:
        alphabet = ALPHABETS[placeholder[1]]
        chance = random.Random(f"{seed} {placeholder[0]} {placeholder.start()}")
        return _mixed(alphabet, int(placeholder[2]), chance)

    return PLACEHOLDER.sub(made_up, sample)


def _mixed(alphabet: str, length: int, chance: random.Random) -> str:
    """Characters with a capital, a digit and a small letter where there is room for them."""
    groups = (string.ascii_uppercase, string.digits, string.ascii_lowercase)
    must_have = [
        chance.choice([letter for letter in group if letter in alphabet] or alphabet)
        for group in groups
    ]
    rest = [chance.choice(alphabet) for _ in range(max(0, length - len(must_have)))]
    return "".join([*rest, *must_have][-length:])
