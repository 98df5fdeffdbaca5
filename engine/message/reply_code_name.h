/* reply_code_name.h - the names of the codes, for people. */
#pragma once

#include "engine/message/reply_code.h"

/* The code in small letters: "not leader". A static string. */
const char *reply_code_name(enum reply_code code);
