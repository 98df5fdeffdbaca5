#!/usr/bin/env python3
"""Admission control in foul weather, measured by a client that shares no code with weir (open_loop.py).

  admission_test.py SCENE [SCENE ..]   default forms, 15 to 60 s each
  admission_test.py SCENE --long       the full form
  admission_test.py --list             the scenes, and what each shows

Each scene starts a cluster of its own. A scene judges all its bounds before it fails. Prints one JSON object
of figures on standard output, what it is doing, and which bound is missed, on standard error."""
import json
import time

import admission_members
import admission_partitions
import admission_saved
import servers
from servers import say

SCENES = {
    "dead-follower-zipf": admission_members.dead_follower_zipf,
    "dead-follower-one": admission_members.dead_follower_one,
    "busy-follower": admission_members.busy_follower,
    "refused-by-member": admission_members.refused_by_member,
    "neighbour": admission_members.neighbour,
    "victims": admission_members.victims,
    "fair-bursts": admission_members.fair_bursts,
    "hung": admission_members.hung,
    "hot-key": admission_partitions.hot_key,
    "spikes": admission_partitions.spikes,
    "uniform": admission_partitions.uniform,
    "adaptive": admission_partitions.adaptive,
    "eventual": admission_partitions.eventual,
    "burst": admission_saved.burst,
}


def run(options, directory):
    if options.list:
        for name, scene in SCENES.items():
            print(f"{name:20} {' '.join(scene.__doc__.split())}")
        return None
    figures, missed = {}, []
    for name in options.scene:
        begun = time.monotonic()
        figures[name], checks = SCENES[name](options, directory)
        missed += checks.missed
        say(f"{name}: {'missed' if checks.missed else 'holds'}, {time.monotonic() - begun:.0f} s")
    if missed:
        say(json.dumps(figures))
    servers.check(not missed, "\n".join(missed))
    return figures


if __name__ == "__main__":
    servers.case(
        __doc__, run, list={"action": "store_true", "help": "print the scenes"},
        scene={"nargs": "*", "choices": [*SCENES, []], "help": "which scenes", "positional": True},
        long={"action": "store_true", "help": "the full forms"}, set=servers.SET_OPTION,
        most=(0.0001, "share throttled beside a dead node"),
        stalls=(0.0, "share of neighbours' requests that may be refused on cores that do other work"),
        rounds=(0, "neighbour, victims: compare the neighbours' latency alone and beside the noisy table, in so many rounds "
                "of 20 s, instead of judging the scene"),
        ratio={"type": float, "help": "with --rounds: how many times the neighbours' p99 may rise; without it the ratio is "
               "only printed"},
        nodes=(3, "nodes of the scenes with a dead node"), relief={"type": float, "help": "seconds until a split must help"},
        jitter=(4.0, "requests that a busy machine may put into another second"),
        within=(1.5, "seconds to the first success"))
