# ruff: noqa: E501
"""Sentences written for this recipe: two fixed lists that are never trained on, and templates that are."""

from __future__ import annotations

import random

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


def template_sentence(rng: random.Random) -> str:
    """One of twenty kinds: greetings, numbers, times, dates, messages of a user interface, small stories."""

    c = rng.choice

    def n(low: int, high: int) -> str:
        return str(rng.randint(low, high))

    def art(word: str) -> str:
        return ("an " if word[0] in "aeiou" else "a ") + word

    kind = rng.randint(0, 19)
    if kind == 0:
        return f"Hello, my name is {c(NAMES)} and I live in {c(PLACES)}."
    if kind == 1:
        return f"The {c(ADJ)} {c(NOUN)} {c(VERB_ED)} the {c(ADJ)} {c(NOUN)} {c(PLACE_PP)}."
    if kind == 2:
        return f"It is {n(1, 12)} {c(['thirty', 'fifteen', 'forty five', 'ten', 'twenty'])} in the {c(['morning', 'afternoon', 'evening'])}."
    if kind == 3:
        return f"The meeting is on {c(WEEK)}, {c(MONTH)} {n(1, 30)}."
    if kind == 4:
        return f"Chapter {n(1, 99)}, page {n(100, 999)}."
    if kind == 5:
        return f"{c(NAMES)} {c(VERB_ED)} {art(c(ADJ))} {c(NOUN)}, and {c(NAMES)} {c(VERB_ED)} the {c(NOUN)}."
    if kind == 6:
        return f"Could you please bring me the {c(ADJ)} {c(NOUN)}, {c(NAMES)}?"
    if kind == 7:
        return f"There are {n(2, 99)} {c(NOUN)}s {c(PLACE_PP)}."
    if kind == 8:
        return f"Where is the {c(NOUN)} that {c(NAMES)} {c(VERB_ED)} {c(PLACE_PP)}?"
    if kind == 9:
        return f"I have never seen such {art(c(ADJ))} {c(NOUN)} before."
    if kind == 10:
        return f"{c(['Good morning', 'Good evening', 'Welcome', 'Thank you', 'Goodbye', 'Excuse me', 'Hello'])}, {c(NAMES)}{c(['.', '!', ', how are you today?', ', please come in.', ', see you on ' + c(WEEK) + '.'])}"
    if kind == 11:
        return f"In {rng.randint(1700, 2029)} the {c(NOUN)} cost {n(2, 900)} dollars."
    if kind == 12:
        return f"The train from {c(PLACES)} to {c(PLACES)} leaves at {n(1, 12)} o'clock."
    if kind == 13:
        return f"{c(['Warning', 'Error', 'Notice', 'Done', 'Success'])}, the {c(NOUN)} is {c(['not ready', 'ready', 'full', 'almost empty', 'out of range', 'connected', 'missing'])}."
    if kind == 14:
        return f"If you {c(['see', 'hear', 'find', 'meet', 'need'])} the {c(NOUN)}, call {c(NAMES)} at once."
    if kind == 15:
        return (
            f"We {c(VERB_ED)} it {c(PLACE_PP)}, but nobody {c(['noticed', 'came', 'listened', 'cared', 'answered'])}."
        )
    if kind == 16:
        return (
            f"Please {c(['enter', 'say', 'repeat', 'remember'])} the number "
            + " ".join(n(0, 9) for _ in range(rng.randint(2, 6)))
            + "."
        )
    if kind == 17:
        return (
            f"Yes, the {c(NOUN)} is {c(ADJ)}."
            if rng.random() < 0.5
            else f"No, I {c(VERB_ED)} the {c(NOUN)} on {c(WEEK)}."
        )
    if kind == 18:
        return f"What a {c(ADJ)} {c(NOUN)}!" if rng.random() < 0.5 else f"Do you like the {c(ADJ)} {c(NOUN)}?"
    return f"{c(NAMES)} said, the {c(NOUN)} and the {c(NOUN)} were {c(ADJ)} but {c(ADJ)}."
