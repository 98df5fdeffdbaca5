#!/usr/bin/env bash
# The installed library: the examples are compiled with pkg-config's flags alone, against the shared and
# the static library, and run. weir.h compiles as C++. Both libraries export the functions that weir.h
# declares, and nothing else. docs/embedding.md shows only lines of the examples.
#   library_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
pc=$(find "$work/prefix" -name weir.pc)
sed -i "s|^prefix=.*|prefix=$work/prefix|" "$pc"
export PKG_CONFIG_PATH=${pc%/*}
lib=$(pkg-config --variable=libdir weir)

for example in "$source"/examples/*.c; do
    name=$(basename "$example" .c)
    cc -Wall -Werror -o "$work/shared" "$example" $(pkg-config --cflags --libs weir)
    LD_LIBRARY_PATH=$lib "$work/shared" "$work/data-shared-$name"

    cc -Wall -Werror -o "$work/static" "$example" $(pkg-config --cflags weir) \
        "$lib/libweir.a" $(pkg-config --static --libs-only-l weir | sed 's/-lweir//')
    "$work/static" "$work/data-static-$name"
done

printf '%s\n' '#include <weir.h>' \
    'int main() { weir_item_destroy(weir_item_create()); return WEIR_OK; }' > "$work/plus.cc"
c++ -Wall -Wextra -Wpedantic -Werror -o "$work/plus" "$work/plus.cc" $(pkg-config --cflags --libs weir)
LD_LIBRARY_PATH=$lib "$work/plus"

tr '\n' ' ' < "$source/include/weir.h" | grep -oE 'WEIR_API [^;(]*\(' |
    grep -oE 'weir_[a-z0-9_]+\($' | tr -d '(' | sort > "$work/declared"
nm -g --defined-only "$lib/libweir.a" | awk 'NF == 3 { print $3 }' | sort > "$work/static-names"
nm -D --defined-only "$lib/libweir.so" | awk 'NF == 3 { print $3 }' | sort > "$work/shared-names"
for kind in static shared; do
    if ! diff "$work/declared" "$work/$kind-names" >&2; then
        echo "the $kind library does not export exactly what weir.h declares (<)" >&2
        exit 1
    fi
done

sed -n '/^```c$/,/^```$/p' "$source/docs/embedding.md" | grep -v '^```' | sed 's/^ *//' |
    while read -r line; do
        if [ -n "$line" ] && ! grep -qF -- "$line" "$source"/examples/*.c; then
            echo "docs/embedding.md shows a line that no example has: $line" >&2
            exit 1
        fi
    done
