"""Dictionaries are written once, named by version, taken along by jobs, and come and go as PLS files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from api.pronunciations import routes
from reading.spelling.rules import PronunciationRule, decode_rules
from storage.ids import TenantId
from storage.objects import keys
from tests.api.harness import ServedApi, job_id

PATH = "/v1/pronunciation-dictionaries"
PLS = "application/pls+xml"
RULES = [
    {"grapheme": "W3C", "alias": "the Web Consortium"},
    {"grapheme": "sql", "alias": "sequel", "case_sensitive": False},
]

LEXICON = """<?xml version="1.0" encoding="UTF-8"?>
<lexicon version="1.0" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon" alphabet="ipa" xml:lang="en">
  <metadata><anything/></metadata>
  <lexeme><grapheme>SGML</grapheme><grapheme>S G M L</grapheme><alias>standard &amp; markup</alias></lexeme>
</lexicon>"""


def created(api: ServedApi, rules: list[dict[str, Any]] = RULES) -> dict[str, Any]:
    answer = api.http.post(PATH, json={"name": "my words", "rules": rules})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_versions_are_numbered_and_never_change(api: ServedApi) -> None:
    dictionary = created(api)
    path = f"{PATH}/{dictionary['id']}"

    second = api.http.post(f"{path}/versions", json={"rules": [RULES[0]], "language": "en"}).json()

    assert second["reference"] == f"{dictionary['id']}@2"
    assert [each["num_rules"] for each in api.http.get(path).json()["versions"]] == [2, 1]
    assert api.http.get(f"{path}/versions/1").json()["rules"][1] == RULES[1]
    assert api.http.get(f"{path}/versions/3").status_code == 404
    assert [each["id"] for each in api.http.get(PATH).json()["data"]] == [dictionary["id"]]


def test_a_list_has_pages(api: ServedApi) -> None:
    ids = [created(api)["id"] for _ in range(3)]

    first = api.http.get(PATH, params={"limit": 2}).json()
    rest = api.http.get(PATH, params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [each["id"] for each in first["data"] + rest["data"]] == ids
    assert (first["has_more"], rest["has_more"]) == (True, False)


def test_a_job_takes_its_dictionaries_along(api: ServedApi) -> None:
    dictionary = created(api)

    job = api.submit(pronunciation_dictionaries=[dictionary["id"], f"{dictionary['id']}@1"])
    api.http.delete(f"{PATH}/{dictionary['id']}")

    assert job["request"]["pronunciation_dictionaries"] == [f"{dictionary['id']}@1"] * 2
    copy = api.objects.get(keys.job_dictionary(TenantId("local"), job_id(job), 1))
    assert decode_rules(copy)[1] == PronunciationRule("sql", "sequel", case_sensitive=False)
    assert api.http.get(f"{PATH}/{dictionary['id']}").status_code == 404
    assert not list(api.objects.list(f"pronunciations/local/{dictionary['id']}/"))


def test_the_dictionary_to_start_with_is_taken(api: ServedApi) -> None:
    starter = Path(routes.__file__).with_name("english_fiction.pls").read_bytes()

    answer = api.http.post(PATH, params={"name": "fiction"}, content=starter, headers={"Content-Type": PLS})

    assert answer.status_code == 201
    rules = api.http.get(f"{PATH}/{answer.json()['id']}/versions/1").json()["rules"]
    assert ("Worcester", "Wooster") in [(rule["grapheme"], rule["alias"]) for rule in rules]


def test_a_lexicon_comes_in_and_goes_out_as_pls(api: ServedApi) -> None:
    answer = api.http.post(PATH, params={"name": "imported"}, content=LEXICON, headers={"Content-Type": PLS})
    dictionary = answer.json()
    path = f"{PATH}/{dictionary['id']}/versions/1"

    rules = api.http.get(path).json()["rules"]
    exported = api.http.get(path, headers={"Accept": PLS})
    again = api.http.post(PATH, params={"name": "again"}, content=exported.content, headers={"Content-Type": PLS})

    assert answer.status_code == 201
    assert dictionary["name"] == "imported"
    assert dictionary["versions"][0]["language"] == "en"
    assert [(rule["grapheme"], rule["alias"]) for rule in rules] == [
        ("SGML", "standard & markup"),
        ("S G M L", "standard & markup"),
    ]
    assert exported.headers["content-type"].startswith(PLS)
    assert again.json()["versions"][0]["sha256"] == dictionary["versions"][0]["sha256"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (LEXICON.replace("<alias>standard &amp; markup</alias>", "<phoneme>x</phoneme>"), "phonemes are not supported"),
        (LEXICON.replace("</lexicon>", ""), "no element found"),
        (f'<!DOCTYPE x [<!ENTITY a "b">]>{LEXICON.partition("?>")[2]}', "document type declaration"),
        ("<lexicon/>", "1 to 10,000 are taken"),
        ("<html/>", "<html> is not expected here"),
    ],
)
def test_a_bad_lexicon_is_refused_with_its_place(api: ServedApi, content: str, says: str) -> None:
    answer = api.http.post(PATH, params={"name": "x"}, content=content, headers={"Content-Type": PLS})

    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert api.http.get(PATH).json()["data"] == []


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"name": "x", "rules": []}, "/rules", "too_short"),
        ({"name": "x", "rules": [{"grapheme": "...", "alias": "a"}]}, "/rules/0/grapheme", "nothing_speakable"),
        ({"name": "x", "rules": [RULES[0], RULES[0]]}, "/rules/1/grapheme", "repeated"),
        ({"name": "x", "rules": [{"grapheme": "a", "phoneme": "b"}]}, "/rules/0/alias", "missing"),
        ({"rules": RULES}, "/name", "missing"),
    ],
)
def test_bad_rules_are_refused_with_their_place(api: ServedApi, body: dict[str, Any], pointer: str, code: str) -> None:
    answer = api.http.post(PATH, json=body)

    assert answer.status_code == 422
    assert (answer.json()["errors"][0]["pointer"], answer.json()["errors"][0]["code"]) == (pointer, code)


def test_what_the_system_can_do_is_data(api: ServedApi) -> None:
    capabilities = api.http.get("/v1/capabilities").json()

    elements = {element["name"]: element for element in capabilities["ssml"]["elements"]}
    assert elements["break"]["supported"]
    assert not elements["emphasis"]["supported"]
    assert "instructions" in elements["emphasis"]["note"]
    assert (elements["emphasis"]["lenient"], elements["emphasis"]["lenient_attributes"]) == ("text", [])
    assert elements["prosody"]["attributes"] == elements["prosody"]["lenient_attributes"] == ["rate", "volume"]
    assert (elements["bookmark"]["supported"], elements["bookmark"]["lenient_attributes"]) == (False, ["mark"])
    assert capabilities["ssml"]["prosody"]["rates"]["slow"] < 1
    assert set(capabilities["ssml"]["say_as"]) < set(capabilities["ssml"]["lenient_say_as"])
    assert capabilities["input"]["document_formats"] == ["docx", "epub", "html", "md", "pdf", "txt"]
    assert "m4b" in [each["type"] for each in capabilities["output_formats"]]
    presets = {each["name"]: each["output"] for each in capabilities["presets"]}
    assert presets["acx"]["formats"] == [{"type": "mp3", "files": "chapters", "bitrate_kbps": 192}]
    assert capabilities["languages"] == ["English", "German"]
