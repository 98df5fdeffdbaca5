#!/bin/bash
# measure_test.sh MEASURE PROGRAM PROPERTY: what the launcher of every test guarantees (tests/measure.c), and the main
# function of every test program (tests/main.c).
set -u
measure=$1 program=$2 property=$3
folder=$(mktemp -d)
export TMPDIR=$folder
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
grep -q '"code": 126' "$folder/cost" || { echo "measure_test: no cost was noted"; failed=1; }
leave='mkdir -p "$TMPDIR/a/b" && echo "$TMPDIR" >"$0"'
expect 0 "a test leaves a directory" "$measure" 10 "$folder/cost" sh -c "$leave" "$folder/left"
[ ! -e "$(cat "$folder/left")" ] || { echo "measure_test: $(cat "$folder/left") was left"; failed=1; }
expect 3 "a test fails and leaves a directory" "$measure" 10 "$folder/cost" sh -c "$leave && exit 3" "$folder/left"
[ -d "$(cat "$folder/left")/a/b" ] || { echo "measure_test: what a failed test left is gone"; failed=1; }
expect 0 "the directory may be in memory" "$measure" --memory 10 "$folder/cost" sh -c '[ -d "$TMPDIR" ]'

# A launcher that is killed takes its test along.
mkfifo "$folder/pid"
"$measure" 100 "$folder/cost" sh -c 'echo $$ >"$0" && exec tail -f /dev/null' "$folder/pid" &
read -r test <"$folder/pid"
kill -KILL $!
wait $! 2>/dev/null
if ! timeout 30 tail --pid="$test" -f /dev/null; then
    kill -KILL "$test"
    echo "measure_test: a test outlives its launcher"
    failed=1
fi

expect 2 "a test program refuses words that it does not know" "$program" --list heat_test
expect 2 "a test program refuses options that it does not know" "$program" --lists
expect 1 "no test is a failure" "$program" --filter no_such_test
expect 1 "a filter beside another one that nothing matches" "$program" --filter base_test --filter no_such_test
for seed in '' 7x -1 18446744073709551616; do
    expect 1 "SEED=$seed is no seed" env SEED="$seed" "$property" --filter token_bucket_property
    expect 1 "SEEDS=$seed is no number" env SEEDS="$seed" "$property" --filter token_bucket_property
done
expect 0 "the last seed" env SEED=18446744073709551615 "$property" --filter token_bucket_property
grep -q '^SEED=18446744073709551615 ' "$folder/out" || { echo "measure_test: the last seed did not run"; failed=1; }
exit $failed
