"""Numbers and sums as people say them, in English and Chinese, put into the signs of arithmetic."""

import re
from decimal import Decimal
from fractions import Fraction

from .arithmetic import CannotCalculate

MAX_NUMERAL_CHARACTERS = 60

CN_DIGITS = {
    **{letter: number for number, letter in enumerate("零一二三四五六七八九")},
    **{letter: number for number, letter in enumerate("〇壹贰叁肆伍陆柒捌玖")},
    "两": 2, "兩": 2, "貳": 2, "參": 3, "陸": 6,
}  # fmt: skip
CN_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
CN_SECTIONS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_DIGIT, _UNIT = "".join(CN_DIGITS), "".join((*CN_UNITS, *CN_SECTIONS))
CN_NUMBER = re.compile(
    rf"(?:(?<![\d.])\d{{1,15}}(?:\.\d{{1,15}})?(?=[{_UNIT}])|[{_DIGIT}{_UNIT}])"
    rf"(?:\d{{0,8}}[{_DIGIT}{_UNIT}])*(?:[点點][{_DIGIT}]+|\d{{1,8}}(?![\d.]))?"
)
CN_TOKEN = re.compile(r"\d+(?:\.\d+)?|.")

EN_SMALL = {word: number for number, word in enumerate(
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"])}  # fmt: skip
EN_TENS = {word: 10 * number for number, word in enumerate(
    ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)}  # fmt: skip
EN_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_EN = "|".join((*EN_SMALL, *EN_TENS, "hundred", *EN_SCALES))
_AND = (
    f"(?:{'|'.join(f'(?<={word})' for word in ('hundred', *EN_SCALES))})"  # one hundred and five, but not: two and five
)
EN_NUMBER = re.compile(
    rf"(?<!\d )\b(?:an? (?=hundred|thousand|million|billion|trillion))?(?:{_EN})(?:(?:-| |{_AND} and )(?:{_EN}))*"
    rf"(?: point(?: (?:{'|'.join(EN_SMALL)}))+)?\b"
)
SCALED = re.compile(
    r"(?<![\w.])(\d[\d,]{0,20}(?:\.\d{1,20})?|an?) ?(hundred|thousand|million|billion|trillion|dozen|k|mn|bn)\b"
)
SCALES = {**EN_SCALES, "hundred": 100, "dozen": 12, "k": 10**3, "mn": 10**6, "bn": 10**9}
PARTS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
         "ninth": 9, "tenth": 10, "hundredth": 100}  # fmt: skip
PART = re.compile(rf"(?<![\w.])(an? |\d{{1,6}} )?({'|'.join(PARTS)})s?\b(?: of a\b)?")

_V = r"(\d{1,20}(?:\.\d{1,20})?)"
DISCOUNT = re.compile(
    rf"(?P<value>(?<=[\d)%])\s*)?(?:元|块钱?)?(?:的|打了?)?\s*{_V}折(?:之?后)?(?P<after>\s*(?=[\d(]))?"
)
CHINESE: tuple[tuple[str, str], ...] = (
    (rf"100分之\s*{_V}", r"\1%"),
    (rf"1000分之\s*{_V}", r"(\1/1000)"),
    (rf"{_V}分之\s*{_V}", r"(\2/\1)"),
    (rf"{_V}成(?!\w)", r"(\1*10)%"),
    (r"(?<=[\d)])\s*的?\s*1半", " * 0.5"),
    (rf"{_V}\s*的?(?:算术)?平方根", r"sqrt(\1)"),
    (rf"{_V}\s*的?立方根", r"cbrt(\1)"),
    (r"根号|根號", " sqrt "),
    (r"的?\s*(?:阶乘|階乘)", "!"),
    (rf"的?\s*{_V}\s*次(?:方|幂|冪)", r"^(\1)"),
    (r"负(?=\s*[\d(])|負(?=\s*[\d(])", "-"),
)
CURRENCIES = {
    "$": "dollar", "usd": "dollar", "dollar": "dollar", "dollars": "dollar", "美元": "dollar",
    "€": "euro", "eur": "euro", "euro": "euro", "euros": "euro", "欧元": "euro",
    "£": "pound", "gbp": "pound", "英镑": "pound",
    "¥": "¥", "元": "¥", "块": "¥", "块钱": "¥", "cny": "¥", "rmb": "¥", "人民币": "¥", "日元": "yen", "jpy": "yen",
    "₹": "rupee", "inr": "rupee", "₩": "won", "krw": "won", "₽": "rouble", "rub": "rouble",
}  # fmt: skip
_MONEY = "|".join(re.escape(word) for word in sorted(CURRENCIES, key=len, reverse=True))
MONEY = re.compile(rf"(?<=[\d)])\s?(?:{_MONEY})(?![a-z])|(?<![a-z])(?:{_MONEY})\s?(?=[-+\d(.])|[$€£¥₹₩₽]")


def numerals(text: str) -> str:
    """Number words as digits: `fifteen`, `2.5 million`, `三千五`, `百分之十五`, `八折`, `half`."""
    if text.isascii():
        text = EN_NUMBER.sub(_english, text)
    else:
        text = CN_NUMBER.sub(_chinese, text)
        for pattern, put in CHINESE:
            text = re.sub(pattern, put, text)
        text = DISCOUNT.sub(_discount, text)
    return PART.sub(_part, SCALED.sub(_scaled, text))


def without_currency(text: str) -> str:
    """The sums without the signs of money; raises CannotCalculate where two currencies meet."""
    found = {CURRENCIES[match[0].strip()] for match in MONEY.finditer(text)}
    if len(found) > 1:
        raise CannotCalculate(
            f"The amounts are in different currencies ({', '.join(sorted(found))}).",
            suggestion="Convert them first: no exchange rates are known here.",
        )
    return MONEY.sub(" ", text) if found else text


def _chinese(match: "re.Match[str]") -> str:
    if len(match[0]) > MAX_NUMERAL_CHARACTERS:
        return match[0]
    run, point, decimals = match[0].replace("點", "点").partition("点")
    value = _chinese_whole(CN_TOKEN.findall(run))
    if value is None:
        return match[0]
    if point:
        value += Fraction(int("".join(str(CN_DIGITS[letter]) for letter in decimals)), 10 ** len(decimals))
    return _written(value)


def _chinese_whole(tokens: list[str]) -> Fraction | None:
    """三千五 is 3,500, 一百零五 is 105, 1.5亿 is 150,000,000, 二〇二六 is 2026."""
    total, section, unit = Fraction(0), Fraction(0), 1
    pending: Fraction | None = None
    spelled = ""  # digits read one by one since the last unit
    for token in tokens:
        if token in CN_UNITS:
            section += (1 if pending is None else pending) * CN_UNITS[token]
            pending, spelled, unit = None, "", CN_UNITS[token]
        elif token in CN_SECTIONS:
            size = CN_SECTIONS[token]
            inner = section + (pending or 0)
            total = (total + inner) * size if total and unit < size and total < size else total + (inner or 1) * size
            section, pending, spelled, unit = Fraction(0), None, "", size
        elif token in CN_DIGITS:
            spelled += str(CN_DIGITS[token])
            pending = Fraction(int(spelled))
        elif pending is None:
            pending, spelled = Fraction(token), token
        else:
            return None
    short = unit >= 100 and len(spelled) == 1 and tokens[-1] in CN_DIGITS
    return total + section + (pending or 0) * (Fraction(unit, 10) if short else 1)


def _english(match: "re.Match[str]") -> str:
    whole, _, decimals = match[0].removeprefix("an ").removeprefix("a ").partition(" point ")
    value = _english_whole(whole.replace("-", " ").split())
    if value is None:
        return match[0]
    digits = "".join(str(EN_SMALL[word]) for word in decimals.split())
    return f"{value}.{digits}" if digits else str(value)


def _english_whole(words: list[str]) -> int | None:
    total, current, scale, fresh = 0, 0, 10**15, True
    for word in words:
        if word in EN_SCALES:
            if EN_SCALES[word] >= scale:
                return None
            scale = EN_SCALES[word]
            total, current, fresh = total + (current or 1) * scale, 0, True
        elif word == "hundred":
            if current >= 100:
                return None
            current, fresh = (current or 1) * 100, True
        elif word in EN_TENS and fresh:
            current, fresh = current + EN_TENS[word], False
        elif word in EN_SMALL and (fresh or (current % 100 >= 20 and current % 10 == 0 and 0 < EN_SMALL[word] < 10)):
            current, fresh = current + EN_SMALL[word], False
        elif word != "and":
            return None
    return total + current


def _scaled(match: "re.Match[str]") -> str:
    number = "1" if match[1].startswith("a") else match[1].replace(",", "")
    return _written(Fraction(number) * SCALES[match[2]])


def _part(match: "re.Match[str]") -> str:
    count = (match[1] or "").strip()
    return f"({count if count.isdigit() else 1}/{PARTS[match[2]]})"


def _discount(match: "re.Match[str]") -> str:
    """八折 is 80 % of the price, 八五折 and 85折 are 85 %."""
    number = Fraction(match[2])
    rate = _written(number / (10 if number <= 10 else 100))
    if match["value"] is not None:
        return f" * {rate}"
    return f"{rate} * " if match["after"] is not None else rate


def _written(value: Fraction) -> str:
    return format(Decimal(value.numerator) / Decimal(value.denominator), "f")
