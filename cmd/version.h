/* version.h - which weir this is. */
#pragma once

/* The commit that weir was built from, "638bbde7a1b2". If other sources were built, it is followed
 * by "-modified-" and a part of the executable's SHA-256; without a repository it is "unknown-" and
 * that part. Static. */
const char *version_build(void);
