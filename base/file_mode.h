/* file_mode.h - modes of the files and directories that weir makes; tidy allows no others. */
#pragma once

enum {
    /* Data of a user, keys of recordings, logs: nobody else may read them. */
    FILE_MODE_PRIVATE = 0600,
    DIRECTORY_MODE_PRIVATE = 0700,
    /* Reports: the umask decides. */
    DIRECTORY_MODE_SHARED = 0777,
};
