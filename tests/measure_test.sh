#!/bin/bash
# measure_test.sh MEASURE PROGRAM: what the launcher of every test promises (tests/measure.c), and the main function of
# every test program (tests/main.c).
set -u
measure=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# expect CODE WHAT COMMAND...
expect() {
    local code=$1 what=$2
    shift 2
    "$@" >"$folder/out" 2>&1
    local got=$?
    if [ $got != "$code" ]; then
        echo "measure_test: $what: exit code $got, not $code:"
        cat "$folder/out"
        failed=1
    fi
}

expect 7 "the exit code is the command's" "$measure" 10 "$folder/cost" sh -c 'exit 7'
expect 152 "processor time has a limit" "$measure" 1 "$folder/cost" sh -c 'while :; do :; done'
expect 99 "what outlives a test makes it fail" "$measure" 10 "$folder/cost" sh -c 'sleep 1000 & exit 0'
expect 0 "what ends soon after a test is waited for" "$measure" 10 "$folder/cost" sh -c 'sleep 1 & exit 0'
expect 77 "a test without its program is skipped" "$measure" --needs /nowhere 10 "$folder/cost" true
expect 126 "a command that is none" "$measure" 10 "$folder/cost" /nowhere
expect 126 "a limit that is none" "$measure" x "$folder/cost" true
expect 2 "a test program refuses words that it does not know" "$program" --list heat_test
expect 2 "a test program refuses options that it does not know" "$program" --lists
expect 1 "no test is a failure" "$program" --filter no_such_test
grep -q '"code": 126' "$folder/cost" || { echo "measure_test: no cost was noted"; failed=1; }
exit $failed
