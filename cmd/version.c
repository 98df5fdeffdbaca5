#include "cmd/version.h"

#include <stdio.h>

#include "cmd/build_commit.h"
#include "cmd/file_hash.h"

enum {
    EXECUTABLE_DIGITS = 12
};

const char *version_build(void)
{
    static char build[64];
    char hash[FILE_HASH_TEXT_SIZE] = "";
    struct buffer error = {0};
    if (WEIR_COMMIT[0] != '\0' && !WEIR_MODIFIED)
        return WEIR_COMMIT;
    if (build[0] == '\0') {
        file_hash("/proc/self/exe", hash, &error);
        snprintf(build, sizeof build, "%s-%.*s",
                 WEIR_COMMIT[0] != '\0' ? WEIR_COMMIT "-modified" : "unknown", EXECUTABLE_DIGITS,
                 hash);
    }
    buffer_deinit(&error);
    return build;
}
