#!/usr/bin/env bash
# The installed libraries, weir and weir-limiter: the examples are compiled with pkg-config's flags alone, against
# the shared and the static library. Those of weir are run; the one of weir-limiter needs a server, and
# api/limiter_client_test.py runs it. The headers compile as C++. All libraries export the functions that their
# headers declare, and nothing else. The documents show only lines of the examples.
#   library_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
pc=$(find "$work/prefix" -name weir.pc)
export PKG_CONFIG_PATH=${pc%/*}
lib=$(pkg-config --variable=libdir weir)

for example in "$source"/examples/{embedded,conditions}.c; do
    name=$(basename "$example" .c)
    cc -Wall -Werror -o "$work/shared" "$example" $(pkg-config --cflags --libs weir)
    LD_LIBRARY_PATH=$lib "$work/shared" "$work/data-shared-$name"

    cc -Wall -Werror -o "$work/static" "$example" $(pkg-config --cflags weir) \
        "$lib/libweir.a" $(pkg-config --static --libs-only-l weir | sed 's/-lweir//')
    "$work/static" "$work/data-static-$name"
done

cc -Wall -Werror -o "$work/shared" "$source/examples/limiter.c" $(pkg-config --cflags --libs weir-limiter)
cc -Wall -Werror -o "$work/static" "$source/examples/limiter.c" $(pkg-config --cflags weir-limiter) \
    "$lib/libweir-limiter.a"

printf '%s\n' '#include <weir.h>' '#include <weir/limiter.h>' \
    'int main() { weir_item_destroy(weir_item_create()); weir_limiter_close(nullptr); return WEIR_OK; }' \
    > "$work/plus.cc"
c++ -Wall -Wextra -Wpedantic -Werror -o "$work/plus" "$work/plus.cc" $(pkg-config --cflags --libs weir weir-limiter)
LD_LIBRARY_PATH=$lib "$work/plus"

# exports_only HEADER LIBRARY
exports_only() {
    tr '\n' ' ' < "$source/include/$1" | grep -oE 'WEIR_API [^;(]*\(' |
        grep -oE 'weir_[a-z0-9_]+\($' | tr -d '(' | sort > "$work/declared"
    nm -g --defined-only "$lib/$2.a" | awk 'NF == 3 { print $3 }' | sort > "$work/static-names"
    nm -D --defined-only "$lib/$2.so" | awk 'NF == 3 { print $3 }' | sort > "$work/shared-names"
    for kind in static shared; do
        if ! diff "$work/declared" "$work/$kind-names" >&2; then
            echo "the $kind library $2 does not export exactly what $1 declares (<)" >&2
            exit 1
        fi
    done
}
exports_only weir.h libweir
exports_only weir/limiter.h libweir-limiter

cat "$source"/docs/{embedding,guide-limiter}.md | sed -n '/^```c$/,/^```$/p' | grep -v '^```' | sed 's/^ *//' |
    while read -r line; do
        if [ -n "$line" ] && ! grep -qF -- "$line" "$source"/examples/*.c; then
            echo "docs/ shows a line that no example has: $line" >&2
            exit 1
        fi
    done
