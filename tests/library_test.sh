#!/usr/bin/env bash
# The installed library: the example is compiled with pkg-config's flags alone, against the shared and
# the static library, and run; the static one exports nothing but weir.h's names.
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

cc -Wall -Werror -o "$work/shared" "$source/examples/embedded.c" $(pkg-config --cflags --libs weir)
LD_LIBRARY_PATH=$lib "$work/shared" "$work/data-shared"

cc -Wall -Werror -o "$work/static" "$source/examples/embedded.c" $(pkg-config --cflags weir) \
    "$lib/libweir.a" $(pkg-config --static --libs-only-l weir | sed 's/-lweir//')
"$work/static" "$work/data-static"

foreign=$(nm -g --defined-only "$lib/libweir.a" | awk 'NF == 3 && $3 !~ /^weir_/ { print $3 }')
if [ -n "$foreign" ]; then
    echo "libweir.a exports names that are not weir.h's: $foreign" >&2
    exit 1
fi
