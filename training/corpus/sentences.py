# ruff: noqa: E501
"""Sentences written for this recipe: two fixed lists that are never trained on, and templates that are."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

HARVARD = """The birch canoe slid on the smooth planks.
Glue the sheet to the dark blue background.
It's easy to tell the depth of a well.
These days a chicken leg is a rare dish.
Rice is often served in round bowls.
The juice of lemons makes fine punch.
The box was thrown beside the parked truck.
The hogs were fed chopped corn and garbage.
Four hours of steady work faced us.
A large size in stockings is hard to sell.
The boy was there when the sun rose.
A rod is used to catch pink salmon.
The source of the huge river is the clear spring.
Kick the ball straight and follow through.
Help the woman get back to her feet.
A pot of tea helps to pass the evening.
Smoky fires lack flame and heat.
The soft cushion broke the man's fall.
The salt breeze came across from the sea.
The girl at the booth sold fifty bonds.""".splitlines()

EVERYDAY = """Hello, this is a small voice that runs on two processor cores.
The quick brown fox jumps over the lazy dog.
Please leave your message after the tone.
The next train to the city leaves at half past nine.
Would you like a cup of coffee with milk and sugar?
I think it will rain tomorrow, so bring an umbrella.
She opened the door and walked quietly into the garden.
We hold these truths to be self evident.
My brother works in a hospital near the river.
Open the file, read the first line, and close it again.
Thank you for calling, how can I help you today?
The weather in London is cold and windy this morning.
Nobody knew where the children had hidden the key.
There are twelve months in a year and seven days in a week.
The museum is closed on Monday but open on Sunday.
He wrote a long letter to his mother last winter.
Turn left at the second street and stop near the bridge.
Music makes the people come together.
Your order has been shipped and should arrive on Friday.
Speech is made of small sounds that follow one another.""".splitlines()

NAMES = [
    "Alice",
    "Bob",
    "Carol",
    "David",
    "Emma",
    "Frank",
    "Grace",
    "Henry",
    "Irene",
    "Jack",
    "Kate",
    "Louis",
    "Mary",
    "Nora",
    "Oliver",
    "Paul",
    "Ruth",
    "Sarah",
    "Thomas",
    "Victor",
    "Walter",
    "Anna",
    "Peter",
    "Susan",
    "Robert",
    "Linda",
    "James",
    "Julia",
    "Martin",
    "Helen",
    "George",
    "Laura",
]
PLACES = [
    "London",
    "Paris",
    "Boston",
    "Chicago",
    "Berlin",
    "Madrid",
    "Rome",
    "Dublin",
    "Sydney",
    "Toronto",
    "Denver",
    "Seattle",
    "Austin",
    "Oxford",
    "Vienna",
    "Prague",
    "Oslo",
    "Lisbon",
    "Athens",
    "Tokyo",
    "Dallas",
    "Houston",
    "Phoenix",
    "Portland",
    "Geneva",
]
ADJ = [
    "old",
    "new",
    "small",
    "large",
    "red",
    "green",
    "blue",
    "white",
    "black",
    "happy",
    "sad",
    "quiet",
    "loud",
    "warm",
    "cold",
    "bright",
    "dark",
    "heavy",
    "light",
    "quick",
    "slow",
    "clean",
    "empty",
    "open",
    "strange",
    "simple",
    "gentle",
    "brave",
    "clever",
    "busy",
    "lazy",
    "friendly",
    "narrow",
    "broken",
    "golden",
    "silver",
    "wooden",
]
NOUN = [
    "dog",
    "cat",
    "house",
    "car",
    "table",
    "window",
    "garden",
    "river",
    "mountain",
    "book",
    "letter",
    "teacher",
    "doctor",
    "farmer",
    "child",
    "boat",
    "train",
    "horse",
    "bridge",
    "kitchen",
    "school",
    "office",
    "market",
    "street",
    "bottle",
    "chair",
    "lamp",
    "clock",
    "phone",
    "picture",
    "apple",
    "bread",
    "cheese",
    "flower",
    "tree",
    "island",
    "village",
    "station",
    "hotel",
    "engine",
    "camera",
    "computer",
    "keyboard",
    "basket",
    "blanket",
    "button",
    "candle",
]
VERB_ED = [
    "opened",
    "closed",
    "found",
    "lost",
    "painted",
    "cleaned",
    "carried",
    "dropped",
    "bought",
    "sold",
    "moved",
    "watched",
    "followed",
    "remembered",
    "forgot",
    "liked",
    "wanted",
    "needed",
    "touched",
    "visited",
    "broke",
    "fixed",
    "covered",
    "measured",
    "lifted",
    "pushed",
    "pulled",
    "described",
]
PLACE_PP = [
    "in the garden",
    "near the river",
    "behind the house",
    "on the table",
    "under the bridge",
    "at the station",
    "in the kitchen",
    "by the window",
    "across the street",
    "over the hill",
    "in the morning",
    "after dinner",
    "before the storm",
    "during the night",
    "last summer",
    "every evening",
    "without a word",
    "in the middle of town",
]
WEEK = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTH = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


class _Dice:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def one_of(self, choices: Sequence[str]) -> str:
        return self._rng.choice(choices)

    def number(self, low: int, high: int) -> str:
        """Both included."""
        return str(self._rng.randint(low, high))

    def digits(self) -> str:
        """Two to six of them, as they are read out."""
        return " ".join(self.number(0, 9) for _ in range(self._rng.randint(2, 6)))

    def is_heads(self) -> bool:
        return self._rng.random() < 0.5


def _with_article(word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + word


_KINDS: tuple[Callable[[_Dice], str], ...] = (
    lambda d: f"Hello, my name is {d.one_of(NAMES)} and I live in {d.one_of(PLACES)}.",
    lambda d: (
        f"The {d.one_of(ADJ)} {d.one_of(NOUN)} {d.one_of(VERB_ED)} the {d.one_of(ADJ)} {d.one_of(NOUN)} {d.one_of(PLACE_PP)}."
    ),
    lambda d: (
        f"It is {d.number(1, 12)} {d.one_of(['thirty', 'fifteen', 'forty five', 'ten', 'twenty'])} in the {d.one_of(['morning', 'afternoon', 'evening'])}."
    ),
    lambda d: f"The meeting is on {d.one_of(WEEK)}, {d.one_of(MONTH)} {d.number(1, 30)}.",
    lambda d: f"Chapter {d.number(1, 99)}, page {d.number(100, 999)}.",
    lambda d: (
        f"{d.one_of(NAMES)} {d.one_of(VERB_ED)} {_with_article(d.one_of(ADJ))} {d.one_of(NOUN)}, and {d.one_of(NAMES)} {d.one_of(VERB_ED)} the {d.one_of(NOUN)}."
    ),
    lambda d: f"Could you please bring me the {d.one_of(ADJ)} {d.one_of(NOUN)}, {d.one_of(NAMES)}?",
    lambda d: f"There are {d.number(2, 99)} {d.one_of(NOUN)}s {d.one_of(PLACE_PP)}.",
    lambda d: f"Where is the {d.one_of(NOUN)} that {d.one_of(NAMES)} {d.one_of(VERB_ED)} {d.one_of(PLACE_PP)}?",
    lambda d: f"I have never seen such {_with_article(d.one_of(ADJ))} {d.one_of(NOUN)} before.",
    lambda d: (
        f"{d.one_of(['Good morning', 'Good evening', 'Welcome', 'Thank you', 'Goodbye', 'Excuse me', 'Hello'])}, {d.one_of(NAMES)}{d.one_of(['.', '!', ', how are you today?', ', please come in.', ', see you on ' + d.one_of(WEEK) + '.'])}"
    ),
    lambda d: f"In {d.number(1700, 2029)} the {d.one_of(NOUN)} cost {d.number(2, 900)} dollars.",
    lambda d: f"The train from {d.one_of(PLACES)} to {d.one_of(PLACES)} leaves at {d.number(1, 12)} o'clock.",
    lambda d: (
        f"{d.one_of(['Warning', 'Error', 'Notice', 'Done', 'Success'])}, the {d.one_of(NOUN)} is {d.one_of(['not ready', 'ready', 'full', 'almost empty', 'out of range', 'connected', 'missing'])}."
    ),
    lambda d: (
        f"If you {d.one_of(['see', 'hear', 'find', 'meet', 'need'])} the {d.one_of(NOUN)}, call {d.one_of(NAMES)} at once."
    ),
    lambda d: (
        f"We {d.one_of(VERB_ED)} it {d.one_of(PLACE_PP)}, but nobody {d.one_of(['noticed', 'came', 'listened', 'cared', 'answered'])}."
    ),
    lambda d: f"Please {d.one_of(['enter', 'say', 'repeat', 'remember'])} the number " + f"{d.digits()}.",
    lambda d: (
        f"Yes, the {d.one_of(NOUN)} is {d.one_of(ADJ)}."
        if d.is_heads()
        else f"No, I {d.one_of(VERB_ED)} the {d.one_of(NOUN)} on {d.one_of(WEEK)}."
    ),
    lambda d: (
        f"What a {d.one_of(ADJ)} {d.one_of(NOUN)}!"
        if d.is_heads()
        else f"Do you like the {d.one_of(ADJ)} {d.one_of(NOUN)}?"
    ),
    lambda d: (
        f"{d.one_of(NAMES)} said, the {d.one_of(NOUN)} and the {d.one_of(NOUN)} were {d.one_of(ADJ)} but {d.one_of(ADJ)}."
    ),
)


def template_sentence(rng: random.Random) -> str:
    """One of twenty kinds: greetings, numbers, times, dates, messages of a user interface, small stories."""
    return _KINDS[rng.randint(0, len(_KINDS) - 1)](_Dice(rng))
