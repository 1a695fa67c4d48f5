"""Pairs of a cause and its effect. {A} is a person, {he} {him} {his} that person's pronouns, {T} a town, {D} a day."""

# Sentences and word lists are easier to read and to extend on one line than wrapped.

from __future__ import annotations

from random import Random

from data.sample_generator.core import cap
from data.sample_generator.words import DAYS, TOWNS, person, pronouns

_LINES = """
The road to {T} was covered with ice.|Several cars slid into the ditch near {T}.
Heavy rain fell on {T} for three days.|The river at {T} rose over its banks.
The bridge at {T} was closed for repairs.|Drivers had to take the long way round {T}.
The school bus to {T} broke down on {D}.|The children of {T} came home late on {D}.
{A} trained every day for the race in {T}.|{A} won the race in {T}.
The mayor of {T} opened a new swimming pool.|Many families in {T} learned to swim.
A storm tore the roof off {A}'s barn.|{A} had to build a new roof.
The shop in {T} raised the price of bread.|Customers in {T} went to another bakery.
{A} planted clover beside the field.|Many bees came to {A}'s field.
The last train to {T} was cancelled on {D}.|Passengers to {T} took a taxi on {D}.
The well in {T} dried up in August.|People in {T} carried water from the lake.
{A} left the gate of the field open.|{A}'s sheep walked onto the road.
The wind in {T} dropped on {D}.|The boat race in {T} was put off on {D}.
A famous singer came to {T} on {D}.|All seats in the hall of {T} were sold out on {D}.
The factory in {T} closed its doors.|Two hundred people in {T} lost their jobs.
The council of {T} planted trees along the main street.|The main street of {T} became cooler in summer.
{A} found a purse and took it to the police.|The owner of the purse thanked {A}.
Thick fog lay over the airport of {T} on {D}.|Flights from {T} were delayed on {D}.
Wild pigs dug up {A}'s potatoes.|{A} put a strong fence around the potatoes.
The library in {T} began to open on {D}.|More pupils borrowed books from the library in {T} on {D}.
{A} spoke at the meeting about the noisy road.|The council lowered the speed limit on {A}'s street.
A late frost came to {T} in May.|The apple trees of {T} bore little fruit.
The clock tower in {T} was struck by lightning.|The clock in {T} stopped.
{A} sold fresh lemonade on the hottest {D} of the year.|{A} ran out of lemons by noon on {D}.
Tourists discovered the beach of {T}.|Three new hotels were built in {T}.
The ferry to {T} lost its anchor.|The ferry to {T} drifted onto a sandbank.
{A} forgot to water the plants for a month.|{A}'s plants dried out.
{A} left the ice cream on the table.|{A}'s ice cream melted.
{A} stayed up reading until three in the morning.|{A} was very tired the next day.
{A} put too much salt into the soup.|Nobody wanted to eat {A}'s soup.
{A} washed a red sock with the white shirts.|{A}'s white shirts turned pink.
{A} did not set the alarm clock on {D}.|{A} overslept on {D}.
{A}'s phone battery was empty.|{A} could not call home.
{A} left the window open during the storm.|Rain soaked {A}'s carpet.
{A} cut {his} finger with a knife.|{A} put a plaster on {his} finger.
{A} forgot the cake in the oven.|{A}'s kitchen was full of smoke.
{A} saved some money every month.|{A} was able to buy a new bicycle.
{A} ran to the station without stopping.|{A} was out of breath at the station.
{A} lost the key to the flat on {D}.|{A} had to call a locksmith on {D}.
{A}'s cat climbed a very tall tree.|{A} fetched a long ladder for the cat.
{A} dropped the laptop on the floor.|The screen of {A}'s laptop cracked.
{A} drank a strong coffee late on {D}.|{A} lay awake until midnight on {D}.
{A} heard a very funny joke.|{A} laughed out loud.
The neighbours played loud music on {D}.|{A} could not concentrate on {his} homework on {D}.
{A} walked through the mud in {his} new shoes.|{A} had to clean {his} shoes.
{A} forgot to put a stamp on the letter.|{A}'s letter came back.
{A} turned off the heating in January.|{A}'s rooms became cold.
{A} studied hard for the exam on {D}.|{A} got full marks in the exam on {D}.
{A} touched the hot iron.|{A} burned {his} hand.
{A} left {his} umbrella at home on {D}.|{A} got wet in the rain on {D}.
{A} watered the garden every evening.|{A}'s tomatoes grew large.
A bicycle tyre of {A}'s went flat on {D}.|{A} pushed the bicycle home on {D}.
"""
CAUSES = [tuple(line.split("|")) for line in _LINES.strip().splitlines()]


def fill_causes(rng: Random, pairs: list[tuple[str, ...]]) -> list[list[str]]:
    """[cause, effect] of each pair, the same person, town and day put into all of them."""
    name = person(rng)
    he, him, his = pronouns(name)
    values = {"A": name, "he": he, "him": him, "his": his, "T": rng.choice(TOWNS), "D": rng.choice(DAYS)}
    return [[cap(text.format(**values)) for text in pair] for pair in pairs]
