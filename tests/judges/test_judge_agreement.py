"""Agreement of judge and people on the same footing, bias by system, length and position, calibration, failures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.results import has


def rated(items=60, people=4, judge_noise=0.6, favour=0.0, per_word=0.0, seed=1):
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        shared = rng.normal()
        for system in "AB":
            quality, length = shared + 0.5 * rng.normal(), int(rng.integers(5, 50))
            for who in [*(f"P{p}" for p in range(people)), "gpt"]:
                noise = judge_noise if who == "gpt" else 0.6
                seen = 3 + quality + noise * rng.normal()
                if who == "gpt":
                    seen += favour * (system == "B") + per_word * (length - 27)
                rows.append((f"I{item}", system, who, int(np.clip(np.round(seen), 1, 5)), length, "AB".index(system)))
    table = pd.DataFrame(rows, columns=["item", "system", "participant", "rating", "length", "position"])
    return table.assign(kind=np.where(table["participant"] == "gpt", "judge", "human"))


def test_a_judge_like_a_person_agrees_as_much():
    found = ob.judges.agreement(rated(seed=3))
    for row in found.footing.to_pylist():
        assert row["difference_low"] < 0 < row["difference_high"]
        assert row["judge"] - row["person"] == pytest.approx(row["difference"], abs=1e-12)
        assert row["judge_low"] < row["judge"] < row["judge_high"]
    assert "about as much as they agree with each other" in found.answer


def test_the_answer_says_whether_it_is_about_people_or_about_these():
    table = rated(items=20, people=3)
    assert ob.judges.agreement(table).answer.startswith("gpt agrees with people ")
    assert ob.judges.agreement(table, raters="fixed").answer.startswith("gpt agrees with these people ")


def test_measures_by_their_definitions():
    table = rated(items=15, people=3)
    text = table["item"] + table["system"]
    wide = table.assign(text=text).pivot(index="text", columns="participant", values="rating")
    own, judge, others = [], [], []
    for who in ("P0", "P1", "P2"):
        rest = wide[[p for p in ("P0", "P1", "P2") if p != who]].to_numpy()
        own += wide[who].tolist()
        judge += wide["gpt"].tolist()
        others += rest.tolist()
    others = np.array(others)
    rows = {row["measure"]: row for row in ob.judges.agreement(table).footing.to_pylist()}
    for name, mine in (("judge", np.array(judge)), ("person", np.array(own))):
        assert rows["equal ratings"][name] == pytest.approx((mine[:, None] == others).mean(), abs=1e-12)
        assert rows["correlation"][name] == pytest.approx(np.corrcoef(mine, others.mean(axis=1))[0, 1], abs=1e-12)
        chance = np.mean([(m - o) ** 2 for m in mine for o in others.ravel()])
        disagreement = ((mine[:, None] - others) ** 2).mean()
        assert rows["agreement"][name] == pytest.approx(1 - disagreement / chance, abs=1e-9)


def test_words_have_agreement_beyond_chance():
    table = rated(items=20, people=3)
    words = table.assign(rating=table["rating"].map(dict(zip(range(1, 6), "vwxyz", strict=True))))
    rows = {row["measure"]: row for row in ob.judges.agreement(words).footing.to_pylist()}
    assert set(rows) == {"equal ratings", "agreement"}
    people = table[table["kind"] == "human"]
    mine = table[table["kind"] == "judge"]["rating"].value_counts(normalize=True).sort_index()
    theirs = people["rating"].value_counts(normalize=True).sort_index()
    chance = float((mine * theirs).sum())
    equal = rows["equal ratings"]["judge"]
    assert rows["agreement"]["judge"] == pytest.approx((equal - chance) / (1 - chance), abs=1e-9)


@pytest.mark.slow
def test_a_judge_who_favours_a_system_is_found_and_a_fair_one_is_not():
    unfair = ob.judges.agreement(rated(favour=0.7))
    assert unfair.favours_p < 0.001
    favours = dict(zip(unfair.systems["system"].to_pylist(), unfair.systems["favours"].to_pylist(), strict=True))
    assert favours["B"] == pytest.approx(0.3, abs=0.15)
    assert favours["A"] == pytest.approx(-favours["B"], abs=1e-9)
    assert [(one.code, one.values["system"]) for one in unfair.findings] == [("favours-system", "B")]
    fair = [ob.judges.agreement(rated(items=30, seed=seed), covariates=()).favours_p for seed in range(20)]
    assert np.mean(np.array(fair) < 0.05) <= 0.15


def test_length_and_position():
    found = ob.judges.agreement(rated(per_word=0.03)).covariates.to_pylist()
    length = next(row for row in found if row["column"] == "length")
    assert length["conf_low"] < 0.025 < length["conf_high"] + 0.01
    assert length["p_value"] < 0.001
    words = rated(favour=0.7)
    words["place"] = np.where(words["system"] == "A", "first", "second")
    texts = [f"t{n}" for n in (words["item"] + words["system"]).factorize()[0]]  # names that nobody takes apart
    table = words.drop(columns="system").assign(item=texts, unit=words["item"])
    rows = ob.judges.agreement(table, covariates=["place"], cluster="unit").covariates.to_pylist()
    assert [row["level"] for row in rows] == ["first", "second"]
    assert rows[1]["conf_low"] > 0
    with pytest.raises(InputError, match="column 'mood' is not there"):
        ob.judges.agreement(table, covariates=["mood"])


def test_bias_is_the_regression_with_clustered_errors():
    from statsmodels.formula.api import ols

    table = rated(favour=0.4)
    people = table[table["kind"] == "human"].groupby(["item", "system"])["rating"].mean()
    judge = table[table["kind"] == "judge"].set_index(["item", "system"])["rating"]
    bias = (judge - people).rename("bias").reset_index()
    fit = ols("bias ~ system", bias).fit(
        cov_type="cluster", cov_kwds={"groups": bias["item"].astype("category").cat.codes}
    )
    found = ob.judges.agreement(table).systems.to_pylist()
    assert found[1]["bias"] - found[0]["bias"] == pytest.approx(fit.params["system[T.B]"], abs=1e-10)
    width = (found[1]["conf_high"] - found[1]["conf_low"]) / 2
    from scipy.stats import t

    assert width == pytest.approx(t.ppf(0.975, 59) * fit.bse["system[T.B]"] / 2, rel=1e-9)


def test_calibration_follows_people_and_its_slope_is_the_models():
    table = rated()
    found = ob.judges.agreement(table)
    rows = found.calibration.to_pylist()
    assert sum(row["n_texts"] for row in rows) == 120
    assert [row["expected"] for row in rows] == sorted(row["expected"] for row in rows)
    people = table[table["kind"] == "human"].merge(
        table[table["kind"] == "judge"][["item", "system", "rating"]].rename(columns={"rating": "judge"}),
        on=["item", "system"],
    )
    people["text"] = people["item"] + people["system"]
    people["rating"] = pd.Categorical(people["rating"], ordered=True)
    fit = ob.clmm("rating ~ judge + (1 | participant) + (1 | text)", people, engine="fast")
    slope = next(row for row in fit.tidy().to_pylist() if row["term"] == "judge")
    assert found.slope["estimate"] == pytest.approx(slope["estimate"], rel=1e-3)


def test_where_it_fails():
    table = rated(judge_noise=0.01)
    wrong = (table["item"] == "I7") & (table["system"] == "B") & (table["kind"] == "judge")
    people = table[(table["item"] == "I7") & (table["system"] == "B") & (table["kind"] == "human")]["rating"].mean()
    table.loc[wrong, "rating"] = 5 if people < 3 else 1
    worst = ob.judges.agreement(table).worst.to_pylist()[0]
    assert (worst["item"], worst["system"]) == ("I7", "B")
    assert worst["difference"] == pytest.approx((5 if people < 3 else 1) - people)


def test_a_judge_with_one_rating_for_everything():
    table = rated()
    table.loc[table["kind"] == "judge", "rating"] = 3
    found = ob.judges.agreement(table)
    assert found.slope is None
    assert has(found.findings, "constant-judge")
    assert found.footing.to_pylist()[1]["judge"] == pytest.approx(0, abs=1e-9)
