"""Who is in a book: names in its text, which of them are one person, and that person's sex. English. Pure.

A name counts as a person's if the text shows it: a title, a verb of speech, or a call ("Oh, Mary!").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reading.dialogue.proposal import Sex
from reading.dialogue.quotations import Quotation
from reading.languages.vocabulary import (
    FEMALE_NAMES,
    FEMALE_NOUNS,
    FEMALE_TITLES,
    MALE_NAMES,
    MALE_NOUNS,
    MALE_TITLES,
    SHORT_NAMES,
    SINGLE_TITLES,
    SPEECH_VERBS,
    TITLES,
    words,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """[start, end) names the person `person`, an index into the people of the text.

    is_called: the words address this person ("Oh, Mary!").
    """

    start: int
    end: int
    person: int
    in_quotation: bool
    is_called: bool


@dataclass(slots=True)
class Person:
    """names: every form in the text, the most frequent first."""

    name: str
    names: list[str]
    sex: Sex = ""


@dataclass(frozen=True, slots=True)
class _Form:
    """A name as it stands: `Mr. Frank Churchill` has the title mr, the words Frank and Churchill."""

    title: str
    words: tuple[str, ...]

    @property
    def first(self) -> str:
        """In small letters; "" for a title alone."""
        return self.words[0].lower() if self.words else ""

    @property
    def last(self) -> str:
        return self.words[-1].lower() if self.words else ""


@dataclass(slots=True)
class _Evidence:
    """How often the text uses a form as a person's name, and as a place's."""

    count: int = 0
    speaks: int = 0
    called: int = 0
    acts: int = 0
    place: int = 0
    article: int = 0


@dataclass(slots=True)
class _Found:
    start: int
    end: int
    form: _Form
    in_quotation: bool
    is_called: bool


_TITLE = "|".join(sorted({title.capitalize() for title in TITLES}, key=len, reverse=True))
_SPACE = r"(?:[ \t]{1,3}|[ \t]{0,3}\n[ \t]{0,3})"
_WORD = r"(?:(?:Mc|Mac|O['’]|D['’])[A-Z][a-z]+|[A-Z][a-zà-ÿ]+(?:['’-][A-Z]?[a-zà-ÿ]{2,})*|[A-HJ-Z]\.)"
_PARTICLE = r"(?:(?:van der|van den|van|von|de la|de|du|del|della|le|la|of the|of)\s)?"
_NAME = re.compile(
    rf"(?<![\w'’])(?:(?P<title>{_TITLE})\b\.?{_SPACE}?)?"
    rf"(?P<words>{_PARTICLE}{_WORD}(?:{_SPACE}{_PARTICLE}{_WORD}){{0,3}})?"
)
_CAPITAL = re.compile(r"(?<![\w'’])[A-Z][\w’'-]*")
_LOWER = re.compile(r"(?<![\w'’])[a-z][\w’'-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…\"“”‘*_—\-\[(])\s{0,4}['\"“‘(]{0,4}$")
_LINE_BEFORE = re.compile(r"[,.!?…—-]['\"”’][ \n]$")
_VERB_AFTER = re.compile(rf"(?:,? \w{{1,20}}ly)?,?\s{{1,4}}(?:{'|'.join(sorted(SPEECH_VERBS))})\b", re.IGNORECASE)
_VERB_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(SPEECH_VERBS))})\s{{1,4}}(?:the\s{{1,4}})?$", re.IGNORECASE)
_ACTS = re.compile(
    r"\s{1,4}(?:had|was|did|would|could|looked|took|came|turned|got|stood|sat|made|gave|felt|seemed|has|is)\b"
)
_PLACE_BEFORE = re.compile(r"\b(?:in|at|from|near|towards|into|of|to|through|leave|leaving|reach|reached|left)\s{1,4}$")
_ARTICLE_BEFORE = re.compile(r"\b(?:the|a|an)\s{1,4}$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$")
_CALLED_BEFORE = re.compile(
    r"(?:^|[,.!?;:—\-]\s{0,4}|[\"“‘']|\b(?:dear|oh|my|poor|well|yes|no|thank you),?\s{1,4})$", re.IGNORECASE
)
_CALLED_AFTER = re.compile(r"\s{0,4}[,.!?;—\-\"”’]")

_NEVER_NAMES = words(
    """
    i the a an and but or if so then when while where what why who how this that these those he she it they we you
    his her their my your our its yes no oh ah well now there here not never nothing one two three for from in on at
    to of with by as after before let do did does is are was were have has had would shall should can could might
    must come go look see tell please thank good god heaven heavens lord monday tuesday wednesday thursday friday
    saturday sunday january february march july september october november december english french german italian
    american british indian spanish russian christmas easter chapter part book volume england france london paris
    germany italy america india europe sir madam ma'am dear gracious bless some all every any each such only just
    perhaps indeed still even very too also again once more most much many few other another same however though
    although because since until till unless than rather quite yet upon into over under between hullo hello hush
    nonsense certainly exactly nobody somebody someone everybody everyone anybody anyone neither both people
    mr mrs ms dr mme mlle st rev prof esq messrs
    """
)


_FIRST_NAMES = MALE_NAMES | FEMALE_NAMES
_MOST_FORMS = 1_000
"""Forms of names of a book. A novel has some hundred; each is compared with the others."""


class People:
    """The people of a text, and where they are named.

    persons: the most frequent first. mentions: in the order of the text.
    """

    def __init__(self, text: str, quotations: Sequence[Quotation]) -> None:
        self._spans = [(each.start, each.end) for each in quotations]
        self._starts = [start for start, _ in self._spans]
        found = list(self._forms(text))
        groups = _grouped(_accepted(text, found))
        order = sorted(dict.fromkeys(groups.values()), key=lambda group: -group.count)
        number = {group: index for index, group in enumerate(order)}
        self.persons = [group.person() for group in order]
        self.mentions = [
            Mention(each.start, each.end, number[groups[each.form]], each.in_quotation, each.is_called)
            for each in found
            if each.form in groups
        ]
        self._guess_sexes(text)

    def in_quotation(self, at: int) -> bool:
        index = bisect_left(self._starts, at + 1) - 1
        return index >= 0 and at < self._spans[index][1]

    def _forms(self, text: str) -> Iterator[_Found]:
        proper = _proper_words(text)
        for match in _NAME.finditer(text):
            found = _form_of(match, text, proper) if match[0] else None
            if found is None:
                continue
            form, start, end = found
            quoted = self.in_quotation(start)
            called = bool(
                quoted and _CALLED_AFTER.match(text, end) and _CALLED_BEFORE.search(text, max(0, start - 14), start)
            )
            yield _Found(start, end, form, quoted, called)

    def _guess_sexes(self, text: str) -> None:
        """Titles and first names first; else the pronouns that follow in narration."""
        votes: dict[int, Counter[str]] = defaultdict(Counter)
        for mention in self.mentions:
            if mention.in_quotation:
                continue
            after = text[mention.end : mention.end + 90]
            if (word := _PRONOUN.search(after)) is not None:
                votes[mention.person]["male" if word[0].lower() in _HE else "female"] += 1
        for index, person in enumerate(self.persons):
            if not person.sex and votes[index]:
                male, female = votes[index]["male"], votes[index]["female"]
                if max(male, female) >= 2 * min(male, female) + 1:
                    person.sex = "male" if male > female else "female"


_HE = frozenset({"he", "his", "him", "himself"})
_PRONOUN = re.compile(r"\b([Hh]e|[Hh]is|[Hh]im|[Hh]imself|[Ss]he|[Hh]er|[Hh]ers|[Hh]erself)\b")


def _proper_words(text: str) -> set[str]:
    """Words with a capital inside sentences or in `"Yes," Maren said`, and more often so than without one."""
    inside: Counter[str] = Counter()
    for match in _CAPITAL.finditer(text):
        before = max(0, match.start() - 6), match.start()
        if not _SENTENCE_START.search(text, *before) or (
            _LINE_BEFORE.search(text, *before) and _VERB_AFTER.match(text, match.end())
        ):
            inside[_POSSESSIVE.sub("", match[0])] += 1
    lower = Counter(_LOWER.findall(text))
    return {word for word, count in inside.items() if count > lower[word.lower()] and len(word) > 1}


def _form_of(match: re.Match[str], text: str, proper: set[str]) -> tuple[_Form, int, int] | None:
    """The name without what only begins a sentence, and its place; None if nothing is left."""
    start, title = match.start(), (match["title"] or "").lower()
    spans = [word.span() for word in _WORDS.finditer(text, *match.span("words"))]
    kept: list[tuple[int, str]] = []
    for first, last in spans:
        word = _POSSESSIVE.sub("", text[first:last])
        known = word in proper or (word.lower() in _FIRST_NAMES and word not in _ALSO_WORDS)
        if word in _ALSO_WORDS and _QUESTION.match(text, last):
            known = False
        if word.lower() in _NEVER_NAMES or not (known or _is_initial(word) or (title and not kept)):
            if kept:
                break
            continue
        kept.append((first, word))
        if text[first + len(word) : last] or text[last : last + 4].split()[:1] == ["of"]:
            break
    if len(kept) == 1 and _is_initial(kept[0][1]) and not title:
        return None
    if kept:
        first, (last, word) = kept[0][0], kept[-1]
        if first != spans[0][0]:
            title = ""
        return _Form(title, tuple(word for _, word in kept)), start if title else first, last + len(word)
    if title and title not in {"m", "mr", "mrs", "miss", "ms", "don", "count", "god", "lord", "sir"}:
        return _Form(title, ()), start, start + len(title)
    return None


def _is_initial(word: str) -> bool:
    return len(word) == 2 and word[1] == "."


_WORDS = re.compile(_WORD)
_ALSO_WORDS = words(
    """
    May Will Mark Grace Rose Hope Faith Patience Olive Violet Dick Bill Pat Don Daisy Ivy Joy Mercy Prudence
    """
)
"""Names that are words as well: a capital at the beginning of a sentence does not show a name."""
_QUESTION = re.compile(r"\s{1,4}(?:I|you|he|she|it|we|they|the|not|be)\b")


def _accepted(text: str, found: Sequence[_Found]) -> dict[_Form, _Evidence]:
    """Forms that stand for people."""
    evidence: dict[_Form, _Evidence] = defaultdict(_Evidence)
    for each in found:
        tally = evidence[each.form]
        tally.count += 1
        tally.called += each.is_called
        before = text[max(0, each.start - 16) : each.start]
        if not each.in_quotation:
            tally.speaks += bool(_VERB_AFTER.match(text, each.end) or _VERB_BEFORE.search(before))
            tally.acts += bool(_ACTS.match(text, each.end))
        tally.place += bool(_PLACE_BEFORE.search(before))
        tally.article += bool(_ARTICLE_BEFORE.search(before))
    people = {form: tally for form, tally in evidence.items() if _is_person(form, tally)}
    frequent = sorted(people, key=lambda form: -people[form].count)[:_MOST_FORMS]
    return {form: people[form] for form in frequent}


def _is_person(form: _Form, tally: _Evidence) -> bool:
    if form.title and form.words:
        return True
    if not form.words:
        return tally.speaks + tally.called > 0 and tally.count > 1
    first = form.words[0].lower()
    if tally.speaks:
        return tally.place < 0.8 * tally.count
    if len(form.words) > 1 and tally.count == 1 and first not in _FIRST_NAMES:
        return False
    if first in _FIRST_NAMES:
        return tally.place < 0.6 * tally.count
    return tally.called + tally.acts >= 2 and tally.place + tally.article < 0.35 * tally.count


@dataclass(slots=True, eq=False)
class _Group:
    """Forms of one person's name. count: of all of them."""

    counts: Counter[_Form] = field(default_factory=Counter[_Form])
    count: int = 0

    @property
    def sex(self) -> Sex:
        votes: Counter[Sex] = Counter()
        for form, count in self.counts.items():
            if sex := _sex_of(form):
                votes[sex] += count
        return votes.most_common(1)[0][0] if votes else ""

    def person(self) -> Person:
        names = [_written(form) for form, _ in self.counts.most_common()]
        return Person(names[0], names, self.sex)


def _written(form: _Form) -> str:
    title = form.title.capitalize() + ("." if form.title in {"mr", "mrs", "ms", "dr", "prof", "rev"} else "")
    return " ".join((title, *form.words)) if form.title else " ".join(form.words)


def _sex_of(form: _Form) -> Sex:
    if form.title in FEMALE_TITLES:
        return "female"
    first = form.first
    if form.title in MALE_TITLES and form.title not in {"dr", "doctor", "prof", "professor"}:
        return "male"
    if first in FEMALE_NAMES and first not in MALE_NAMES:
        return "female"
    if first in MALE_NAMES and first not in FEMALE_NAMES:
        return "male"
    last = form.last
    if last in MALE_NOUNS:
        return "male"
    return "female" if last in FEMALE_NOUNS else ""


def sex_of(name: str) -> Sex:
    """By a title, a first name or a noun; "" if the name does not tell."""
    first, *rest = name.split()
    title = first.rstrip(".").lower()
    return _sex_of(_Form(title, tuple(rest)) if rest and title in TITLES else _Form("", (first, *rest)))


def _grouped(forms: dict[_Form, _Evidence]) -> dict[_Form, _Group]:
    """Which forms are one person's. Whole names first, then what is part of one."""
    groups: dict[_Form, _Group] = {}
    by_count = sorted(forms, key=lambda form: -forms[form].count)
    alone = Counter({form.words[0]: forms[form].count for form in forms if len(form.words) == 1 and not form.title})

    def place(form: _Form, group: _Group | None) -> None:
        groups[form] = group or _Group()
        groups[form].counts[form] = forms[form].count
        groups[form].count += forms[form].count

    for form in by_count:
        if len(form.words) > 1:
            place(form, _same_whole(form, groups, alone))
    for form in by_count:
        if len(form.words) == 1 and form.title:
            place(form, _titled_group(form, forms[form].count, groups, alone))
    for form in by_count:
        if len(form.words) == 1 and not form.title:
            place(form, _single_group(form, groups, alone))
        elif not form.words:
            place(form, None)
    return groups


def _first(word: str) -> str:
    return SHORT_NAMES.get(word.lower(), word.lower())


_OFTEN = 20


def _is_own_name(form: _Form, other: _Form, alone: Counter[str]) -> bool:
    """Whether one's short first name often stands alone where the other's whole one does not: Tom, and his father."""
    counts = sorted((alone[form.words[0]], alone[other.words[0]]))
    return (
        form.words[0] != other.words[0]
        and counts[1] >= _OFTEN
        and counts[1] > 2 * counts[0]
        and max(form.words[0], other.words[0], key=lambda word: alone[word]).lower() in SHORT_NAMES
    )


def _same_whole(form: _Form, groups: dict[_Form, _Group], alone: Counter[str]) -> _Group | None:
    sex = _sex_of(form)
    for other, group in groups.items():
        if other.words[-1] != form.words[-1] or (sex and group.sex and sex != group.sex):
            continue
        if {form.title, other.title} & {"sir", "lord"} and form.words[0] != other.words[0]:
            continue
        if (_first(other.words[0]) == _first(form.words[0]) and not _is_own_name(form, other, alone)) or (
            other.words[0][0] == form.words[0][0] and (other.words[0].endswith(".") or form.words[0].endswith("."))
        ):
            return group
    return None


def _titled_group(form: _Form, count: int, groups: dict[_Form, _Group], alone: Counter[str]) -> _Group | None:
    """`Mr. Churchill` is Frank Churchill if no other man of that name is known; `Sir Thomas` goes by the first name."""
    (word,) = form.words
    sex = _sex_of(form)
    fitting: Counter[_Group] = Counter()
    for other, group in groups.items():
        if group in fitting or (sex and group.sex and sex != group.sex):
            continue
        if {form.title, *(each.title for each in group.counts)} >= {"mrs", "miss"}:
            continue
        if len(other.words) > 1:
            if (other.words[-1] == word and _may_share_title(form, count, group, alone)) or (
                form.title not in SINGLE_TITLES | {"dr"} and other.words[0] == word
            ):
                fitting[group] = group.count + alone[other.words[0]]
        elif other.words == form.words and _same_title(form.title, other.title):
            fitting[group] = group.count
    ranked = fitting.most_common(2)
    if len(ranked) == 1 or (ranked and ranked[0][1] > 5 * ranked[1][1]):
        return ranked[0][0]
    return None


def _same_title(title: str, other: str) -> bool:
    return {title, other} <= _OF_MEN or {title, other} <= {"dr", "doctor"} or {title, other} <= {"prof", "professor"}


_OF_MEN = words("mr sir captain colonel major inspector lieutenant general admiral squire")


def _may_share_title(form: _Form, count: int, group: _Group, alone: Counter[str]) -> bool:
    """`Mr. John Knightley` is called so because another is `Mr. Knightley`; a wife is not called by her own name."""
    whole = [each for each in group.counts if len(each.words) > 1]
    if form.title == "mrs":
        return count < sum(group.counts[each] for each in whole if each.title == "mrs")
    plain = sum(group.counts[each] for each in whole if not each.title)
    titled = sum(group.counts[each] for each in whole if each.title == form.title)
    return titled <= plain or count < 1.5 * group.count + alone[whole[0].words[0]]


def _single_group(form: _Form, groups: dict[_Form, _Group], alone: Counter[str]) -> _Group | None:
    """Of a first name, a family name, or the short form of a first name."""
    word = form.first
    first: Counter[_Group] = Counter()
    last: Counter[_Group] = Counter()
    short: Counter[_Group] = Counter()
    for other, group in groups.items():
        number = len(other.words)
        has_first = (number > 1 and other.title != "mrs") or (number == 1 and other.title not in SINGLE_TITLES)
        if has_first and other.first == word:
            first[group] = group.count
        elif other.last == word:
            last[group] = group.count
        elif (
            has_first
            and other.title not in {"sir", "lord", "lady"}
            and _first(other.first) == _first(word)
            and not _is_own_name(form, other, alone)
        ):
            short[group] = group.count
    for fitting in (first, last, short):
        if fitting:
            men = Counter({group: count for group, count in fitting.items() if group.sex == "male"})
            ranked = (men if fitting is last and men else fitting).most_common(2)
            if len(ranked) == 1 or ranked[0][1] > 2 * ranked[1][1]:
                return ranked[0][0]
            return None
    return None
