"""Numbers, money and units as words in nine languages; what would have to agree with a noun stays in digits."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading.languages.names import NORMALIZED_LANGUAGES
from reading.numbers.east_asian import CHINESE, JAPANESE, KOREAN, words_of
from reading.script.script import plain_script
from reading.spelling.normalizers import NORMALIZERS
from reading.spelling.respelling import respelt
from reading.spelling.spoken import SpokenText
from tests.property_tests import examples


def spoken(text: str, language: str) -> str:
    script = respelt(plain_script(text), NORMALIZERS[language])
    return SpokenText(script.text, script.replacements).text


def test_the_api_names_the_languages_that_have_rules() -> None:
    assert tuple(sorted(NORMALIZERS)) == NORMALIZED_LANGUAGES


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "german",
            "Um 18.30 Uhr am 3. Mai 1984 waren 21 da und 1 Hund.",
            "Um achtzehn Uhr dreißig am dritten Mai neunzehnhundertvierundachtzig waren einundzwanzig da und 1 Hund.",
        ),
        (
            "german",
            "14,99 €, 2,75 % und -12,5 °C",
            "Vierzehn Euro neunundneunzig, zwei Komma sieben fünf Prozent und minus zwölf Komma fünf Grad Celsius",
        ),
        ("german", "1 km, aber 101 km", "Ein Kilometer, aber 101 km"),
        (
            "german",
            "Nach § 5 und §12 Abs. 2, §§ 3 und § 4a",
            "Nach Paragraf fünf und Paragraf zwölf Abs. zwei, §§ 3 und § 4a",
        ),
        ("french", "le § 5 du §12", "le § 5 du §12"),
        (
            "german",
            "Der 2. Weltkrieg, Fassung 2.0.1, 12.03.2024, S. 14–17",
            "Der 2. Weltkrieg, Fassung 2.0.1, 12.03.2024, S. 14–17",
        ),
        (
            "french",
            "Le 1er mai à 21 h 45, 20 000 habitants et 21 femmes",
            "Le premier mai à vingt et une heures quarante-cinq, vingt mille habitants et 21 femmes",
        ),
        (
            "french",
            "31 € et 2,75 %, la 1re et le 2e",
            "31 € et deux virgule soixante-quinze pour cent, la première et le deuxième",
        ),
        (
            "spanish",
            "El 12 de enero de 1931 había 200 páginas y 15 perros",
            "El doce de enero de mil novecientos treinta y uno había 200 páginas y quince perros",
        ),
        ("spanish", "1 €, 21 €, 200 £, la 2ª, n.º 10", "Un euro, 21 €, 200 £, la segunda, n.º diez"),
        (
            "italian",
            "1 cane, 21 gatti, 14,99 € e il 7,5%",
            "1 cane, ventuno gatti, quattordici euro e novantanove e il sette virgola cinque per cento",
        ),
        ("portuguese", "2 casas, 16 dias, R$ 5 e 2 km", "2 casas, dezesseis dias, cinco reais e dois quilômetros"),
        ("chinese", "1984年2月2个人走了3.5公里，2:05", "一九八四年二月两个人走了三点五公里，两点零五分"),
        ("chinese", "50%，¥2，-5℃，B2，3-4天，007", "百分之五十，两元，负五摄氏度，B2，3-4天，007"),
        ("japanese", "1984年、6:02、¥500、3.5キロ", "千九百八十四年、六時二分、五百円、三点五キロ"),
        (
            "korean",
            "3개, 20명, 4시 15분, 18시, 25살, 3개월",
            "세 개, 스무 명, 네 시 십오분, 십팔 시, 스물다섯 살, 삼 개월",
        ),
        ("korean", "412쪽, 50%, 3.5km, 10번", "사백십이쪽, 오십 퍼센트, 삼 점 오 킬로미터, 10번"),
    ],
)
def test_what_is_known_is_written_as_words(language: str, text: str, words: str) -> None:
    assert spoken(text, language) == words


@pytest.mark.parametrize(
    ("number", "chinese", "japanese", "korean"),
    [
        (10, "十", "十", "십"),
        (110, "一百一十", "百十", "백십"),
        (10_000, "一万", "一万", "만"),
        (10_005, "一万零五", "一万五", "만 오"),
        (20_010_000, "二千零一万", "二千一万", "이천일만"),
        (100_000_001, "一亿零一", "一億一", "일억 일"),
        (1_200, "一千二百", "千二百", "천이백"),
    ],
)
def test_numbers_in_myriads(number: int, chinese: str, japanese: str, korean: str) -> None:
    assert [words_of(numerals, number) for numerals in (CHINESE, JAPANESE, KOREAN)] == [chinese, japanese, korean]


@given(
    text=st.text(st.sampled_from("0123456789.,:/%€$£¥ –-−°CkmhUr年月个개시ºªeBÄ\n"), max_size=80),
    language=st.sampled_from(NORMALIZED_LANGUAGES),
)
@settings(max_examples=examples(400), deadline=None)
def test_replacements_are_in_order_and_leave_the_rest(text: str, language: str) -> None:
    replacements = list(NORMALIZERS[language](text, 0, len(text)))

    assert all(each.start < each.end for each in replacements)
    assert all(one.end <= other.start for one, other in itertools.pairwise(replacements))
    assert not any(char.isdigit() for each in replacements for char in each.spoken)
