"""Holds what is said of a guest's clock against how it truly differs from this host's, which `mark` learns through memory that both share.

    truth.py MARKS <CLAIMS

MARKS is what `mark` printed in the guest: its time, and the least and the largest that its clock was ahead of the host's. CLAIMS are lines of the guest's
time, how far its clock is said to be ahead, and the largest error. All are in ns of CLOCK_MONOTONIC.
"""

import sys

# How far from a claim's time the offset is looked at.
NEAR_NS = 30_000_000_000
# What an offset changes by at once if a clock was set or stood still.
STEP_NS = 1_000_000


def read(file):
    """Lines of whole numbers."""
    return [[int(float(word)) for word in line.split()] for line in file if line.endswith("\n")]


def pieces(samples):
    """The samples between steps of a clock, which nothing that both saw allows."""
    piece = []
    for sample in samples:
        if piece and (sample[1] > piece[-1][2] + STEP_NS or sample[2] < piece[-1][1] - STEP_NS):
            yield piece
            piece = []
        piece.append(sample)
    yield piece


def below(points, at):
    """Where the lower hull of the points is at this x; None outside."""
    hull = []
    for x, y in points:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (hull[-1][0] - hull[-2][0]):
            hull.pop()
        hull.append((x, y))
    for (x, y), (right, above) in zip(hull, hull[1:]):
        if x <= at <= right:
            return y + (above - y) * (at - x) / (right - x)


def true_offset(samples, at):
    """The least and the largest offset at a time of the guest: a clock that drifts evenly for a minute is a line above all least and below all largest ones."""
    for piece in pieces(samples):
        near = [sample for sample in piece if abs(sample[0] - at) <= NEAR_NS]
        high = below([(when, high) for when, _, high in near], at)
        if high is not None:
            return -below([(when, -low) for when, low, _ in near], at), high
    return None, None


def judge(samples, claims):
    """Counts of claims: the true offset lies within, it may, it does not; claims of times when nothing was marked are left out."""
    within, maybe, not_within, widths = 0, 0, [], []
    for at, offset, error in claims:
        low, high = true_offset(samples, at)
        if low is None:
            continue
        widths.append(high - low)
        if offset - error <= low and high <= offset + error:
            within += 1
        elif high < offset - error or offset + error < low:
            not_within.append((at, offset, error, low, high))
        else:
            maybe += 1
    return within, maybe, not_within, sorted(widths)


def main(marks):
    with open(marks) as file:
        samples = read(file)
    within, maybe, not_within, widths = judge(samples, read(sys.stdin))
    print(f"{within} within, {maybe} undecided, {len(not_within)} not; the truth is known to within {widths[len(widths) // 2] if widths else '-'} ns")
    for at, offset, error, low, high in not_within[:10]:
        print(f"  at {at}: {offset} ± {error}, but it is {low:.0f} to {high:.0f}")
    sys.exit(bool(not_within))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
