"""Scenes of admission_test.py about partitions: where they are split, what they may serve."""
from admission_bench import Bench, Checks, last_refusal_s, rates, say, short
from open_loop import Stream, most_in_window, over_admission, stream_key
from servers import until

MAXIMUM = 500  # of a partition, in write units: low, so that any machine can ask for more
PARTITIONS = 8
SETTINGS = [f"partition_max_wcu={MAXIMUM}", f"partition_max_rcu={3 * MAXIMUM}"]
SORT_KEYS = 2000


def place(b, table):
    """A partition key in each partition: its collection is all that the partition holds."""
    return sorted(b.keys(table, (f"place-{n}" for n in range(500)), PARTITIONS, sort=True).values())


def create(b, *tables):
    for table in tables:
        b.create(table, wcu=PARTITIONS * MAXIMUM, sort=True)
        until(f"{table} has {PARTITIONS} partitions", lambda t=table: len(b.led(t)) == PARTITIONS)


def pieces(b, table):
    """How often the table was split, by decision: splits less than two seconds apart are one."""
    times = sorted(e["time"] for e in b.events(table, "split"))
    rounds = sum(1 for i, t in enumerate(times) if i == 0 or t - times[i - 1] > 2)
    return {"partitions": len(b.led(table)), "splits": len(times), "decisions": rounds,
            "reasons": [e["reason"] for e in b.events(table, "split")],
            "refused": [e["reason"] for e in b.events(table, "split-refused")]}


# ---- a hot key ----


def hot_key(options, directory):
    """A key at 1.2 times the maximum beside 700 writes a second to other keys of its partition is isolated
    within 3 s: it is served at the maximum, its neighbours in full. The same key alone is not split."""
    checks, relief_s = Checks(), options.relief or 3
    full_s = relief_s + 6  # the maximum's bucket holds a second of it: that lasts for 5 s at 1.2 times
    run_s = full_s + (30 if options.long else 9)
    hot = 1.2 * MAXIMUM
    with Bench(options, directory, "hot-key", gac=1, settings=SETTINGS) as b:
        create(b, "beside", "alone")
        near, alone = place(b, "beside")[0], place(b, "alone")[0]
        key = {"collection": near, "first": SORT_KEYS // 2}
        record = b.measure([
            Stream("beside", rate=hot, name="hot", **key),
            Stream("beside", rate=700, name="neighbours", collection=near, key="uniform", keys=SORT_KEYS),
            Stream("alone", rate=hot, collection=alone)], run_s)
        split = {table: pieces(b, table) for table in ("beside", "alone")}
    relieved_s = last_refusal_s(record, ["neighbours"])
    served = {name: record.summary([name], full_s, run_s)["served"] / (run_s - full_s)
              for name in ("hot", "neighbours", "alone")}
    refused = record.summary(["neighbours"], relief_s, run_s)
    say(f"hot key: served {served}, neighbours refused until {relieved_s} s; {split}")
    checks.check(relieved_s <= relief_s,
                 f"hot-key: neighbours are refused until second {relieved_s}, not {relief_s}; after {relief_s} s "
                 f"{refused['refused']} of {refused['asked']} were refused")
    for name in ("hot", "alone"):
        checks.check(abs(served[name] - MAXIMUM) <= 0.02 * MAXIMUM,
                     f"hot-key: the key ({name}) got {served[name]:.1f}/s, the maximum is {MAXIMUM}")
    checks.check(split["alone"]["splits"] == 0, f"hot-key: the key alone was split: {split['alone']}")
    checks.check(split["beside"]["decisions"] <= 1, f"hot-key: split more than once: {split['beside']}")
    return {"served_per_s": {n: round(v, 1) for n, v in served.items()},
            "neighbours_refused_until_s": relieved_s, "split": split, "sent_late": record.late(0.05),
            "all": {n: short(record.summary([n])) for n in served}}, checks


# ---- loads that do not last, and loads that do ----


def spikes(options, directory):
    """Six spikes of two seconds in six partitions, one after the other: nothing is split for them."""
    checks, count, spike_s = Checks(), 6, 2
    with Bench(options, directory, "spikes", gac=1, settings=SETTINGS) as b:
        create(b, "spiky")
        places = place(b, "spiky")[:count]
        streams = [Stream("spiky", rate=2.4 * MAXIMUM, begin=n * spike_s, end=(n + 1) * spike_s, name=name,
                          key="uniform", keys=SORT_KEYS, collection=name) for n, name in enumerate(places)]
        # A split for the last spike would come after it: time for a decision on it stands at the end.
        streams.append(Stream("spiky", rate=10, key="uniform", keys=SORT_KEYS, collection=places[0]))
        record = b.measure(streams, count * spike_s + (20 if options.long else 6))
        split = pieces(b, "spiky")
    say(f"spikes: {split}")
    checks.check(split["splits"] == 0, f"spikes: {split['splits']} splits for {count} spikes of {spike_s} s: {split['reasons']}")
    return {"all": short(record.summary()), "split": split, "sent_late": record.late(0.05)}, checks


def uniform(options, directory):
    """1.5, 2.1 and 2.4 times the maximum, uniform over a partition's keys: it is split in one decision, soon, and
    into no more pieces than the load needs at four fifths of the maximum each, and one."""
    checks, figures, run_s = Checks(), {}, 40 if options.long else 16
    relief_s = options.relief or 6
    times = {"half": 1.5, "double": 2.1, "more": 2.4}
    with Bench(options, directory, "uniform", gac=1, settings=SETTINGS) as b:
        create(b, *times)
        record = b.measure([Stream(table, rate=x * MAXIMUM, key="uniform", keys=SORT_KEYS,
                                   collection=place(b, table)[0]) for table, x in times.items()], run_s)
        for table, x in times.items():
            split, relieved_s = pieces(b, table), last_refusal_s(record, [table])
            needed = -int(-x // 0.8) + 1
            got = split["partitions"] - PARTITIONS + 1
            say(f"uniform {x}: {got} pieces in {split['decisions']} decisions, refused until {relieved_s} s")
            figures[f"{x}"] = {"pieces": got, "relief_s": relieved_s, "split": split,
                               "all": short(record.summary([table])),
                               "refused_by_second": {s["t"]: s["refused"] for s in record.seconds([table])
                                                     if s["refused"]}}
            load = f"uniform: {x} times the maximum"
            checks.check(split["decisions"] == 1,
                         f"{load} was split in {split['decisions']} decisions, not 1: {split['reasons']}")
            checks.check(got <= needed, f"{load} was split into {got} pieces, {needed} are enough")
            checks.check(relieved_s <= relief_s, f"{load} is refused until second {relieved_s}, not {relief_s}")
    return figures | {"sent_late": record.late(0.05)}, checks


# ---- adaptive capacity ----

UNITS = 200


def adaptive(options, directory):
    """Two partitions asked 90/10, without global admission control. 180 of 200 units: relieved within 10 s.
    400 of 200: every second afterwards serves 200."""
    checks, run_s, relief_s = Checks(), 60 if options.long else 22, options.relief or 10
    with Bench(options, directory, "adaptive") as b:
        streams = []
        for table, asked in (("within", 180), ("beyond", 400)):
            b.create(table, wcu=UNITS, partitions=2)
            key_of = {stream_key(Stream(table, first=n)): n for n in range(500)}
            hot, cold = (key_of[key] for key in b.keys(table, key_of, 2).values())
            streams += [Stream(table, rate=0.9 * asked, first=hot), Stream(table, rate=0.1 * asked, first=cold)]
        record = b.measure(streams, run_s)
        raised = {t: [f"{e['before']} -> {e['after']}" for e in b.events(t, "allocation-raised")]
                  for t in ("within", "beyond")}
    relieved_s = last_refusal_s(record, ["within"])
    seconds = rates(record, ["beyond"], relief_s, run_s)
    mean = sum(seconds) / len(seconds)
    # By the client's clock a request may be in the next second: a hundredth of one at 400 a second.
    slack = 0.02 * UNITS + options.jitter
    say(f"adaptive: within the limit refused until {relieved_s} s; beyond it {mean:.1f}/s, "
        f"{min(seconds)}..{max(seconds)}")
    checks.check(record.summary(["within"])["refused"] > 0, "adaptive: nothing was refused, so nothing is shown")
    checks.check(relieved_s <= relief_s,
                 f"adaptive: 180 of 200 are refused until second {relieved_s}, not {relief_s}")
    checks.check(all(abs(n - UNITS) <= slack for n in seconds),
                 f"adaptive: 400 asked of 200: seconds served {seconds}, not {UNITS} +- {slack:.0f}")
    return {"within": {"relief_s": relieved_s, **short(record.summary(["within"]))},
            "beyond": {"mean_per_s": round(mean, 2), "least": min(seconds), "most": max(seconds),
                       "by_second": seconds},
            "raised": raised, "sent_late": record.late(0.05)}, checks


# ---- eventual reads ----

READ_MAXIMUM = 300
READ_UNITS = 100  # of a table


def eventual(options, directory):
    """Eventual reads of one key, from all replicas together, get twice the maximum of a partition and no more,
    also while leaders change. Under the profile strict they get twice the table's units."""
    checks = Checks()
    figures = {"maximum": eventual_maximum(options, directory, checks),
               "strict": eventual_strict(options, directory, checks)}
    return figures, checks


def eventual_strict(options, directory, checks):
    run_s, first_s, most = 20 if options.long else 8, 3, 2 * READ_UNITS
    with Bench(options, directory, "eventual-strict", settings=["profile=strict"]) as b:
        b.create("strict", wcu=10, rcu=READ_UNITS)
        record = b.measure([Stream("strict", rate=5 * most, operation="GetItem eventual")], run_s)
    mean = sum(rates(record, None, first_s, run_s)) / (run_s - first_s)
    say(f"eventual: {mean:.1f}/s of a table of {READ_UNITS} RCU under strict")
    checks.check(0.98 * most <= mean <= 1.02 * most,
                 f"eventual: {mean:.1f} reads/s of a table of {READ_UNITS} RCU under strict, not {most}")
    return {"mean_per_s": round(mean, 1), "all": short(record.summary())}


def eventual_maximum(options, directory, checks):
    run_s = 60 if options.long else 15
    kill_s, back_s, most = run_s / 3, run_s / 2, 2 * READ_MAXIMUM
    settings = [f"partition_max_rcu={READ_MAXIMUM}", f"burst_max_s={300 if options.long else 10}"]
    with Bench(options, directory, "eventual", gac=1, settings=settings) as b:
        b.create("popular", wcu=100, rcu=8 * READ_MAXIMUM)
        until("eight partitions", lambda: len(b.led("popular")) == 8)
        stream = Stream("popular", rate=2500, operation="GetItem eventual", size=100)
        b.call("PutItem", TableName="popular", Item={"pk": {"S": "key-00000000"}})
        with b.load([stream], run_s) as load:
            load.wait_until(kill_s)
            held = [p for p in b.led("popular") if p["read"]["throttled"]["key-range"] > 0]
            victim = f"node-{held[0]['node']}" if held else b.leader_node("popular")
            b.cluster[victim].kill()
            load.wait_until(back_s)
            b.cluster[victim].start()
            record = load.record()
    seconds = rates(record, None, 2, run_s)
    quiet = rates(record, None, 2, int(kill_s))
    mean = sum(quiet) / len(quiet)
    # The maximum's bucket holds a second. No window has more than that beyond its rate, but for what
    # three replicas serve before they hear of each other.
    served = record.served_units()
    windows = {w: round(most_in_window(served, w), 1) for w in (1, 5, run_s)}
    over = {w: round(over_admission(served, w, READ_MAXIMUM, READ_MAXIMUM), 4) for w in windows}
    say(f"eventual: {mean:.1f}/s before the death of {victim}, seconds {min(seconds)}..{max(seconds)}; most units "
        f"in windows: {windows}")
    checks.check(0.98 * most <= mean <= 1.02 * most,
                 f"eventual: {mean:.1f} reads/s of one key, twice the maximum is {most}")
    for w, share in over.items():
        most_share = 0.1 if w == 1 else 0.02
        checks.check(share <= most_share, f"eventual: in {w} s {windows[w]:.0f} units were served, {share:.1%} more than "
                                    f"{READ_MAXIMUM} a second and what the bucket holds")
    return {"mean_per_s": round(mean, 1), "by_second": rates(record, None, 0, run_s),
            "most_units_in_window": windows, "over_admission": over,
            "all": short(record.summary()), "sent_late": record.late(0.05)}
