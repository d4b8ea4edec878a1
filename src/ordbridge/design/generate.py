"""Designs by rule: counterbalanced, Latin squares, fully crossed, and the published ones."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from ordbridge.design.colouring import equitable_colouring
from ordbridge.errors import InputError
from ordbridge.support.arguments import whole
from ordbridge.support.naming import arg

MOST_RATINGS = 10_000_000  # of one study; no budget pays for more


def counterbalanced(
    items: int, ratings_per_text: int, systems: int = 2, texts_per_participant: int = 25, seed: int = 0
) -> pa.Table:
    """Give every text the same number of ratings, nobody an item twice, and everyone all systems equally often.

    A text is an item under a system. Exactly ``ratings_per_text`` participants rate each text; nobody sees one item
    under two systems; the systems that one participant sees differ in frequency by one at most; and there are as few
    participants as texts to rate allow, ``ceil(items * systems * ratings_per_text / texts_per_participant)``.
    If that division leaves a rest, the last participant gets the rest, and the table's metadata has a ``note``.

    Parameters
    ----------
    items, systems
        How many there are of each.
    ratings_per_text
        How many participants rate each item under each system.
    texts_per_participant
        How many texts one participant rates; at most ``items``.
    seed
        The same seed gives the same design.

    Returns
    -------
    pyarrow.Table
        ``participant, item, system, order``, sorted by participant and order.

    Notes
    -----
    Deal shuffled decks of all items, one deck after another, ``texts_per_participant`` cards to each participant. The
    top of a new deck avoids the items that its first receiver already holds (possible, since
    ``texts_per_participant <= items``). So nobody has an item twice, each item is dealt as often as there are decks,
    ``systems * ratings_per_text`` times, and only the last hand can be short. Hands and items are the two sides of a
    bipartite graph; its equitable edge colouring with ``systems`` colours (:mod:`ordbridge.colouring`) always exists
    and gives each item every system ``ratings_per_text`` times and each hand every system equally often, give or take
    one. Fewer participants are impossible, because each rates ``texts_per_participant`` texts at most.

    Examples
    --------
    >>> design = counterbalanced(items=6, ratings_per_text=1, texts_per_participant=4)
    >>> design.num_rows, len(set(design["participant"].to_pylist()))
    (12, 3)
    >>> design.slice(0, 4).to_pydict()["system"].count("A")
    2
    """
    _count(items=items, ratings_per_text=ratings_per_text, systems=systems, texts_per_participant=texts_per_participant)
    if texts_per_participant > items:
        raise InputError(
            f"{arg('texts_per_participant', texts_per_participant)} is more than the {items} items, and nobody may see "
            f"an item twice; nearest possible: {arg('texts_per_participant', items)}, or "
            f"{arg('items', texts_per_participant)}"
        )
    random = _random(seed)
    item = _decks(items, systems * ratings_per_text, texts_per_participant, random)
    participant = np.arange(len(item)) // texts_per_participant
    system = equitable_colouring(participant, item, systems)
    design = _shuffled_table(participant, item, system, random)
    rest = len(item) % texts_per_participant
    if not rest:
        return design
    return design.replace_schema_metadata({"note": _note(rest, texts_per_participant, len(item), participant[-1] + 1)})


def latin_square(systems: int, items: int, raters: int, repeats: int = 1, seed: int = 0) -> pa.Table:
    """Repeat Latin squares, as Belz & Kow (2011): every rater sees each item once and each system equally often.

    The raters × items rectangle is tiled with ``systems`` × ``systems`` Latin squares, each shuffled by itself; the
    letter in a cell is the system under which that rater sees that item. So every rater rates each system
    ``items / systems`` times, and every text gets ``raters / systems`` ratings.

    Parameters
    ----------
    systems, items, raters
        How many there are of each; items and raters must be multiples of the systems.
    repeats
        How often each rater goes through all items, each time under another system; at most ``systems``.
    seed
        The same seed gives the same design.

    References
    ----------
    Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. *ACL*, 230–235.

    Examples
    --------
    The weather forecasts of the paper: 22 raters, 22 dates, 11 systems.

    >>> design = latin_square(systems=11, items=22, raters=22)
    >>> design.num_rows
    484
    """
    _count(systems=systems, items=items, raters=raters, repeats=repeats)
    for name, number in (("items", items), ("raters", raters)):
        if number % systems:
            below, above = number // systems * systems, (number // systems + 1) * systems
            nearest = f"{below} or {above}" if below else f"{above}"
            raise InputError(
                f"{arg(name, number)} is not a multiple of the {systems} systems, so the squares do not fit; nearest "
                f"possible: {nearest}"
            )
    if repeats > systems:
        raise InputError(
            f"{arg('repeats', repeats)} would show a rater the same text twice; nearest possible: "
            f"{arg('repeats', systems)}, as many as there are systems"
        )
    random = _random(seed)
    cyclic = np.add.outer(np.arange(systems), np.arange(systems))
    squares = []
    for _ in range(raters // systems):
        band = []
        for _ in range(items // systems):
            rows, columns = random.permutation(systems), random.permutation(systems)
            names = random.permutation(systems)
            # A shift of the cyclic square is again a Latin square, and differs from the others in every cell.
            band.append([names[(cyclic[rows][:, columns] + shift) % systems] for shift in range(repeats)])
        squares.append(np.concatenate(band, axis=2))
    system = np.concatenate(squares, axis=1)  # repeat × rater × item
    repeat, rater, item = (index.ravel() for index in np.indices(system.shape))
    return _shuffled_table(rater, item, system.ravel(), random, part=repeat)


def crossed(items: int, raters: int, systems: int = 2, seed: int = 0) -> pa.Table:
    """Let everyone rate every item under every system, in an order of their own (Card et al. 2020).

    Examples
    --------
    >>> crossed(items=50, raters=3).num_rows
    300
    """
    _count(items=items, raters=raters, systems=systems)
    rater, item, system = (index.ravel() for index in np.indices((raters, items, systems)))
    return _shuffled_table(rater, item, system, _random(seed))


def howcroft2021(items: int, ratings: int) -> pa.Table:
    """Return the tables of Howcroft & Rieser's published simulation, row by row, with their numbering from 0.

    Each item occurs once under each system; the rows are cut into lists of 4, list ``l`` belongs to participant
    ``l mod items/10``, and the whole is copied ``ratings`` times with new participants, who get the same lists again.
    Everyone rates 20 texts (the paper says 25). Published are 50, 100 and 500 items with 3 and 10 ratings; the same
    rule serves every multiple of 10 from 20 on.

    Parameters
    ----------
    items
        A multiple of 10, at least 20.
    ratings
        How many participants rate each item under each system.

    Returns
    -------
    pyarrow.Table
        ``participant`` (0, 1, …), ``item`` (Item01, …), ``system`` (0, 1), ``order``, and the ``list``.

    References
    ----------
    Howcroft, D. M., & Rieser, V. (2021). What happens if you treat ordinal ratings as interval data? Human evaluations
    in NLP are even more under-powered than you think. *EMNLP*, 8932–8939.

    Examples
    --------
    >>> howcroft2021(items=50, ratings=3).slice(0, 2).to_pydict()
    {'participant': [1, 1], 'item': ['Item01', 'Item02'], 'system': [0, 1], 'order': [1, 2], 'list': [1, 1]}
    """
    _count(items=items, ratings=ratings)
    if items % 10 or items < 20:
        nearest = max(20, items // 10 * 10)
        raise InputError(
            f"{arg('items', items)} has no list of the published kind; nearest possible: "
            + (f"{nearest} or {nearest + 10}" if items > 20 else "20")
        )
    row = np.arange(2 * items)
    item = row % items
    system = (item + row // items) % 2
    lists = row // 4 + 1
    groups = items // 10
    participant = np.concatenate([lists % groups + copy * groups for copy in range(ratings)])
    return pa.table(
        {
            "participant": participant,
            "item": _names("Item", items).take(pa.array(np.tile(item, ratings))),
            "system": np.tile(system, ratings),
            "order": order_of_appearance(participant),
            "list": np.tile(lists, ratings),
        }
    )


def _count(**numbers: int) -> None:
    for name, number in numbers.items():
        whole(name, number, least=1)
    numbers.pop("texts_per_participant", None)
    if math.prod(numbers.values()) > MOST_RATINGS:
        said = ", ".join(arg(name, number) for name, number in numbers.items())
        raise InputError(f"{said} make more than {MOST_RATINGS:,} ratings in one study; give smaller numbers")


def _random(seed: int) -> np.random.RandomState:
    """Return a generator whose stream NumPy has promised never to change (NEP 19), unlike that of ``Generator``."""
    return np.random.RandomState(np.random.PCG64(whole("seed", seed, least=0)))


def _decks(items: int, decks: int, hand: int, random: np.random.RandomState) -> np.ndarray:
    """Shuffle all items once per deck, so that ``hand`` cards in a row, dealt from the start, never repeat an item."""
    dealt = np.empty(0, dtype=np.int64)
    for _ in range(decks):
        deck = random.permutation(items)
        begun = len(dealt) % hand  # cards of the older deck in the hand that the new deck completes
        if begun:
            held = np.isin(deck, dealt[-begun:])
            top, rest = np.split(deck[~held], [hand - begun])
            deck = np.concatenate([top, random.permutation(np.concatenate([rest, deck[held]]))])
        dealt = np.concatenate([dealt, deck])
    return dealt


def _note(rest: int, hand: int, ratings: int, participants: int) -> str:
    return (
        f"{ratings} ratings do not divide into hands of {hand} texts: "
        f"the last of {participants} participants rates only {rest}"
    )


def _shuffled_table(
    participant: np.ndarray,
    item: np.ndarray,
    system: np.ndarray,
    random: np.random.RandomState,
    part: np.ndarray | int = 0,
) -> pa.Table:
    """Name everything and put each participant's texts into a random order, one part of the study after the other."""
    part = np.broadcast_to(part, participant.shape)
    rows = np.lexsort((random.permutation(len(participant)), part, participant))
    participant, item, system = participant[rows], item[rows], system[rows]
    return pa.table(
        {
            "participant": _names("P", participant.max() + 1).take(pa.array(participant)),
            "item": _names("Item", item.max() + 1).take(pa.array(item)),
            "system": _system_names(system.max() + 1).take(pa.array(system)),
            "order": order_of_appearance(participant),
        }
    )


def _names(prefix: str, number: int) -> pa.Array:
    """Return prefix01, prefix02, … with as many digits as the last one needs, so that they sort as counted."""
    digits = max(2, len(str(number)))
    return pa.array([f"{prefix}{n:0{digits}d}" for n in range(1, number + 1)])


def _system_names(number: int) -> pa.Array:
    """Return A, B, …: letters, because numbers would enter a model as a trend instead of as a factor."""
    return pa.array([chr(ord("A") + n) for n in range(number)]) if number <= 26 else _names("S", number)


def order_of_appearance(group: np.ndarray) -> np.ndarray:
    """Count from 1 how many rows of the same group have come so far."""
    rows = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[rows]) != 0])
    order = np.empty(len(group), dtype=np.int64)
    order[rows] = np.arange(len(group)) - np.repeat(starts, np.diff(np.r_[starts, len(group)])) + 1
    return order
