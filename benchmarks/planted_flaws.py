"""Does `ordbridge check` find what is wrong? Flaws of each kind are planted into clean simulated ratings.

    python benchmarks/planted_flaws.py [files per kind, default 20] [clean files, default 1000]

Clean ratings come from the simulator: 10 to 30 participants and more, 20 to 60 items, 2 to 4 systems, crossed or
counterbalanced, 5 or 7 categories, participants and items that differ, effects up to 0.8, times that differ, too.
The files are written as CSV and read again, so that what is found is found in a file.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import ordbridge as ob

Frame = pd.DataFrame
Plant = Callable[[Frame, np.random.Generator], Frame]
PLANTS: dict[str, tuple[str, Plant]] = {}
"""Kind of flaw: the problem that `check` must name, and what plants it."""


def clean(seed: int) -> Frame:
    """Return ratings without a flaw."""
    random = np.random.default_rng([17, seed])
    systems, people = int(random.integers(2, 5)), int(random.integers(12, 31))
    items = int(random.integers(20, 61))
    if random.random() < 0.5:
        design = ob.design.crossed(items=items, raters=people, systems=systems, seed=seed)
    else:
        design = ob.design.counterbalanced(
            items=items,
            ratings_per_text=int(random.integers(3, 7)),
            texts_per_participant=20,
            systems=systems,
            seed=seed,
        )
    counts = design["participant"].value_counts().to_pylist()
    if len(counts) < 10 or min(count["counts"] for count in counts) < 3:
        design = ob.design.crossed(items=items, raters=people, systems=systems, seed=seed)
    cuts = np.linspace(-1.6, 1.6, int(random.choice([4, 6])))
    truth = ob.simulate.Truth(
        effects=tuple(random.uniform(-0.8, 0.8, systems - 1)),
        thresholds=tuple(cuts + random.uniform(-0.3, 0.3)),
        participant_sd=(random.uniform(0.2, 0.7),) + (0.1,) * (systems - 1),
        item_sd=(random.uniform(0.3, 0.8),) + (0.1,) * (systems - 1),
    )
    frame = ob.simulate.ratings(design, truth, seed=seed).to_pandas()
    pace = dict(zip(frame.participant.unique(), random.normal(2.3, 0.4, frame.participant.nunique()), strict=True))
    frame["seconds"] = np.exp(frame.participant.map(pace) + random.normal(0, 0.5, len(frame))).round(1)
    return frame


def plant(problem: str) -> Callable[[Plant], Plant]:
    def register(function: Plant) -> Plant:
        PLANTS[function.__name__.replace("_", " ")] = (problem, function)
        return function

    return register


def some(frame: Frame, random: np.random.Generator, count: int = 3) -> np.ndarray:
    return random.choice(frame.index, count, replace=False)


def anyone(frame: Frame, random: np.random.Generator) -> pd.Series:
    return frame.participant == random.choice(frame.participant.unique())


def set_ratings(frame: Frame, where: object, value: object) -> Frame:
    frame = frame.astype({"rating": object})
    frame.loc[where, "rating"] = value
    return frame


@plant("duplicated-rows")
def rows_copied(frame: Frame, random: np.random.Generator) -> Frame:
    return pd.concat([frame, frame.loc[some(frame, random, 5)]], ignore_index=True)


@plant("repeated-ratings")
def texts_rated_again(frame: Frame, random: np.random.Generator) -> Frame:
    again = frame.loc[some(frame, random, 6)].assign(rating=lambda f: f.rating.max() + 1 - f.rating, seconds=3.3)
    return pd.concat([frame, again], ignore_index=True)


@plant("outside-scale")
def code_99(frame: Frame, random: np.random.Generator) -> Frame:
    return set_ratings(frame, some(frame, random), 99)


@plant("outside-scale")
def code_minus_1(frame: Frame, random: np.random.Generator) -> Frame:
    return set_ratings(frame, some(frame, random, 2), -1)


@plant("outside-scale")
def typed_44_for_4(frame: Frame, random: np.random.Generator) -> Frame:
    return set_ratings(frame, some(frame, random, 1), 44)


@plant("fractional-ratings")
def half_points(frame: Frame, random: np.random.Generator) -> Frame:
    return set_ratings(frame, some(frame, random, 2), 2.5)


@plant("not-a-rating")
def words_among_numbers(frame: Frame, random: np.random.Generator) -> Frame:
    return set_ratings(frame, some(frame, random, 2), "four?")


@plant("no-variation")
def nothing_varies(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(rating=3)


@plant("missing-ratings")
def no_answers(frame: Frame, random: np.random.Generator) -> Frame:
    return set_ratings(frame, some(frame, random, 4), "N/A")


@plant("labels-differ")
def case_of_a_system(frame: Frame, random: np.random.Generator) -> Frame:
    where = random.choice(frame.index[frame.system == "B"], 4, replace=False)
    return frame.assign(system=frame.system.where(~frame.index.isin(where), "b"))


@plant("labels-differ")
def blank_after_a_system(frame: Frame, random: np.random.Generator) -> Frame:
    where = random.choice(frame.index[frame.system == "B"], 4, replace=False)
    return frame.assign(system=frame.system.where(~frame.index.isin(where), "B "))


@plant("labels-differ")
def case_of_a_participant(frame: Frame, random: np.random.Generator) -> Frame:
    mine = frame.index[anyone(frame, random)][:5]
    return frame.assign(participant=frame.participant.where(~frame.index.isin(mine), frame.participant.str.lower()))


@plant("similar-labels")
def punctuation_of_a_system(frame: Frame, random: np.random.Generator) -> Frame:
    frame = frame.assign(system=frame.system.replace({"A": "GPT-4", "B": "human"}))
    where = random.choice(frame.index[frame.system == "GPT-4"], 5, replace=False)
    return frame.assign(system=frame.system.where(~frame.index.isin(where), "GPT4"))


@plant("formula-cells")
def a_formula_for_a_name(frame: Frame, random: np.random.Generator) -> Frame:
    mine = anyone(frame, random)
    return frame.assign(participant=frame.participant.where(~mine, '=HYPERLINK("http://x","y")'))


@plant("hidden-characters")
def a_hidden_character(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(item=frame.item.where(frame.item != frame.item.iloc[0], frame.item + "\u200b"))


@plant("numeric-systems")
def systems_are_numbers(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(system=frame.system.map(ord) - 64)


@plant("no-system")
def system_left_empty(frame: Frame, random: np.random.Generator) -> Frame:
    where = some(frame, random)
    return frame.assign(system=frame.system.where(~frame.index.isin(where), None))


@plant("one-system")
def one_system(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(system="A").drop_duplicates(["participant", "item"])


@plant("item-under-one-system")
def item_under_one_system(frame: Frame, random: np.random.Generator) -> Frame:
    item = random.choice(frame.item.unique())
    return frame[(frame.item != item) | (frame.system == "A")]


@plant("items-within-systems")
def other_items_for_each_system(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(item=frame.item + frame.system)


@plant("participants-within-systems")
def other_people_for_each_system(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(participant=frame.participant + frame.system)


@plant("constant-rater")
def one_answer_to_everything(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(rating=frame.rating.where(~anyone(frame, random), 2))


@plant("alternating-rater")
def answers_in_turn(frame: Frame, random: np.random.Generator) -> Frame:
    mine = frame.index[anyone(frame, random)]
    frame.loc[mine, "rating"] = [2 + n % 2 * 2 for n in range(len(mine))]
    return frame


@plant("alternating-rater")
def answers_up_the_scale(frame: Frame, random: np.random.Generator) -> Frame:
    mine = frame.index[anyone(frame, random)]
    frame.loc[mine, "rating"] = [1 + n % 5 for n in range(len(mine))]
    return frame


@plant("fast-rater")
def too_fast(frame: Frame, random: np.random.Generator) -> Frame:
    mine = anyone(frame, random)
    return frame.assign(seconds=frame.seconds.where(~mine, random.uniform(0.2, 1.2, len(frame)).round(1)))


@plant("reversed-rater")
def scale_turned_round(frame: Frame, random: np.random.Generator) -> Frame:
    texts = frame.groupby(["item", "system"]).rating.transform("mean")
    mine = anyone(frame, random)
    turned = (frame.rating.max() + 1 - texts).round()  # what a careful rater would say, on the scale turned round
    return frame.assign(rating=frame.rating.where(~mine, turned.astype(int)))


@plant("identical-raters")
def copied_answers(frame: Frame, random: np.random.Generator) -> Frame:
    mine = frame[anyone(frame, random)]
    return pd.concat([frame, mine.assign(participant="copy", seconds=mine.seconds + 1)], ignore_index=True)


@plant("unused-categories")
def middle_never_chosen(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(rating=frame.rating.replace({3: 2}))


@plant("slider")
def a_slider(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(rating=(frame.rating * 12 + random.normal(0, 4, len(frame))).clip(0, 100).round(1))


@plant("floor")
def floor(frame: Frame, random: np.random.Generator) -> Frame:
    low = random.random(len(frame)) < 0.85
    return frame.assign(rating=frame.rating.where(~low, 1))


@plant("ceiling")
def ceiling_of_one_system(frame: Frame, random: np.random.Generator) -> Frame:
    high = (random.random(len(frame)) < 0.85) & (frame.system == "B")
    return frame.assign(rating=frame.rating.where(~high, frame.rating.max()))


@plant("separation")
def one_system_always_above(frame: Frame, random: np.random.Generator) -> Frame:
    low, high = frame.system == "A", frame.system == "B"
    rating = frame.rating.where(~low, frame.rating.clip(upper=2)).where(~high, frame.rating.clip(lower=3))
    return frame.assign(rating=rating)


@plant("criteria-in-one-column")
def criteria_in_one_column(frame: Frame, random: np.random.Generator) -> Frame:
    parts = [
        frame.assign(kind_of_question=name, rating=random.permutation(frame.rating)) for name in ("form", "content")
    ]
    return pd.concat(parts, ignore_index=True)


@plant("different-scales")
def criteria_on_different_scales(frame: Frame, random: np.random.Generator) -> Frame:
    parts = [frame.assign(criterion="fluency"), frame.assign(criterion="adequacy", rating=frame.rating * 13)]
    return pd.concat(parts, ignore_index=True)


@plant("unlinked-parts")
def two_studies_in_one(frame: Frame, random: np.random.Generator) -> Frame:
    people = frame.participant.unique()[::2]
    return frame.assign(item=frame.item.where(~frame.participant.isin(people), frame.item + "x"))


@plant("unlinked-parts")
def a_rater_with_other_items(frame: Frame, random: np.random.Generator) -> Frame:
    return frame.assign(item=frame.item.where(~anyone(frame, random), "own " + frame.item))


@plant("few-raters")
def few_raters(frame: Frame, random: np.random.Generator) -> Frame:
    return frame[frame.participant.isin(frame.participant.unique()[:6])]


@plant("few-items")
def few_items(frame: Frame, random: np.random.Generator) -> Frame:
    return frame[frame.item.isin(sorted(frame.item.unique())[:6])]


@plant("few-ratings")
def someone_gave_up(frame: Frame, random: np.random.Generator) -> Frame:
    mine = frame.index[anyone(frame, random)][2:]
    return frame.drop(index=mine)


def problems(frame: Frame, folder: Path) -> list[str]:
    """Write the ratings as a file, check it, and return what was found."""
    frame.to_csv(folder / "ratings.csv", index=False)
    return ob.check(folder / "ratings.csv").table["code"].to_pylist()


def found(kind: str, seed: int, folder: Path) -> bool:
    """Plant a flaw into clean ratings and tell whether the check names it."""
    problem, planter = PLANTS[kind]
    frame = planter(clean(seed).reset_index(drop=True), np.random.default_rng([23, seed]))
    return problem in problems(frame, folder)


def main(files: int = 20, clean_files: int = 1000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"| planted | problem | found in {files} files |\n|---|---|---|")
        for kind, (problem, _) in PLANTS.items():
            hits = sum(found(kind, seed, folder) for seed in range(files))
            print(f"| {kind} | `{problem}` | {hits} |", flush=True)
        alarms: Counter[str] = Counter()
        raised = 0
        for seed in range(1000, 1000 + clean_files):
            said = problems(clean(seed), folder)
            alarms.update(said)
            raised += bool(said)
        print(f"\n{len(PLANTS)} kinds. Of {clean_files} clean files {raised} raise an alarm: {dict(alarms)}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
