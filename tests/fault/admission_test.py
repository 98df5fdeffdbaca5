#!/usr/bin/env python3
"""Admission control in foul weather, measured by a client that shares no code with weir (open_loop.py).

  admission_test.py SCENE [SCENE ..]   default forms, 15 to 60 s each
  admission_test.py SCENE --long       the full form
  admission_test.py --list             the scenes, and what each shows

Each scene starts a cluster of its own. A scene judges all its bounds before it fails. Prints one JSON object
of figures on standard output, what it is doing, and which bound is missed, on standard error."""
import json
import sys
import time

import admission_members
import admission_partitions
import admission_saved
import servers
from admission_bench import say

SCENES = {
    "dead-follower-zipf": admission_members.dead_follower_zipf,
    "dead-follower-one": admission_members.dead_follower_one,
    "busy-follower": admission_members.busy_follower,
    "told-member": admission_members.told_member,
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


def main():
    parser = servers.parser(__doc__)
    parser.add_argument("scene", nargs="*", choices=[*SCENES, []], help="which scenes")
    parser.add_argument("--list", action="store_true", help="print the scenes")
    parser.add_argument("--long", action="store_true", help="the full forms")
    parser.add_argument("--set", action="append", default=[],
                        help="NAME=VALUE: a setting of every process; may be repeated")
    parser.add_argument("--most", type=float, default=0.0001, help="share throttled beside a dead node (0.0001)")
    parser.add_argument("--stalls", type=float, default=0, help="share of neighbours' requests that may be refused on "
                        "cores that do other work (0)")
    parser.add_argument("--rounds", type=int, default=0, help="neighbour, victims: compare the neighbours' latency alone "
                        "and beside the noisy table, in so many rounds of 20 s, instead of judging the scene (0)")
    parser.add_argument("--ratio", type=float, default=None, help="with --rounds: how many times the neighbours' p99 may "
                        "rise; without it the ratio is only printed")
    parser.add_argument("--nodes", type=int, default=3, help="nodes of the scenes with a dead node (3)")
    parser.add_argument("--relief", type=float, default=None, help="seconds until a split must help")
    parser.add_argument("--jitter", type=float, default=4,
                        help="requests that a busy machine may put into another second (4)")
    parser.add_argument("--within", type=float, default=1.5, help="seconds to the first success (1.5)")
    options = parser.parse_args()
    if options.list:
        for name, scene in SCENES.items():
            print(f"{name:20} {' '.join(scene.__doc__.split())}")
        return
    figures, missed = {}, []
    with servers.workplace("admission") as directory:
        for name in options.scene:
            begun = time.monotonic()
            figures[name], checks = SCENES[name](options, directory)
            missed += checks.missed
            say(f"{name}: {'missed' if checks.missed else 'holds'}, {time.monotonic() - begun:.0f} s")
        print(json.dumps(figures, indent=1))
        if missed:
            sys.exit("admission_test: " + "\nadmission_test: ".join(missed))


if __name__ == "__main__":
    main()
