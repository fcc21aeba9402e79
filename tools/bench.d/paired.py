"""Statistics of alternating slices. A ratio is taken within each round, where the load of the machine was nearly the same for
both; the median over the rounds is reported with a bootstrap interval, and a claim only where the interval allows it."""
import itertools
import random
import statistics

RESAMPLES = 2000
CONFIDENCE = 0.95
MIN_PAIRS = 10  # with fewer the interval means little, and no claim is made
MIN_STARTS = 6  # the same, where contenders are started several times: of equal code, 3 starts are called different in 22 % of cases
FASTER, SLOWER, SAME, TOO_FEW = "faster", "slower", "no difference shown", "too few slices"


def quartiles(values):
    """{"median", "q1", "q3"} with linear interpolation between neighbours."""
    ordered = sorted(values)
    return {"median": quantile(ordered, 0.5), "q1": quantile(ordered, 0.25), "q3": quantile(ordered, 0.75)}


def quantile(ordered, share):
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def of_rounds(top, bottom):
    """The ratio within each round; None where a figure is missing, in both lists or in one."""
    return [a / b for a, b in zip(top, bottom) if a is not None and b]


def parts(values, count):
    """The list in so many parts, as equal as they can be."""
    ends = [len(values) * part // count for part in range(count + 1)]
    return [values[begin:end] for begin, end in zip(ends, ends[1:])]


def interval(groups, seed=1):
    """Bootstrap interval of the median of all ratios, which come in groups: percentiles of the medians of samples of groups, drawn
    with replacement."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(itertools.chain(*draw.choices(groups, k=len(groups)))) for _ in range(RESAMPLES))
    rest = (1 - CONFIDENCE) / 2
    return quantile(medians, rest), quantile(medians, 1 - rest)


def verdict(enough, bounds, more_is_better=True):
    if not enough:
        return TOO_FEW
    low, high = bounds
    if low > 1:
        return FASTER if more_is_better else SLOWER
    if high < 1:
        return SLOWER if more_is_better else FASTER
    return SAME


def compare(top, bottom, more_is_better=True, seed=1, starts=1):
    """{"value", "interval", "pairs", "verdict"} of two lists of figures by round, or None without a common round. Where the
    contenders were started several times, each start is one observation: what it has by chance is in all of its rounds."""
    ratios = of_rounds(top, bottom)
    if not ratios:
        return None
    count = starts if starts > 1 else len(top)
    groups = [of_rounds(*both) for both in zip(parts(top, count), parts(bottom, count))]
    groups = [group for group in groups if group]
    bounds = interval(groups, seed)
    enough = len(ratios) >= MIN_PAIRS and (starts == 1 or len(groups) >= MIN_STARTS)
    return {"value": statistics.median(ratios), "interval": list(bounds), "pairs": len(ratios),
            "verdict": verdict(enough, bounds, more_is_better)}


NO_LOSS = "not below"  # a relation: no loss is shown, because the whole interval would have to be below


def meets(value, relation, bound):
    return value >= bound if relation == ">=" else value <= bound


def met(done, relation, bound):
    """Whether a result of compare() meets a target. None does not, nor does an interval of too few pairs."""
    if done is None:
        return False
    if relation == NO_LOSS:
        return done["pairs"] >= MIN_PAIRS and done.get("verdict") != TOO_FEW and done["interval"][1] >= bound
    return meets(done["value"], relation, bound)
