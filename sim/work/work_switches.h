/* work_switches.h - two clients that switch the streams and the time to live of tables on and off.
 *
 * They wait neither for each other nor for a table to be ACTIVE: a change may come while an earlier
 * one settles. Between the changes they ask what is so. What a table tells is sure if no change was
 * on its way before, and stays sure until the next change begins. Others check by that what must be
 * so meanwhile. */
#pragma once

#include "sim/work/work_clients.h"

enum {
    WORK_SWITCHES_CLIENTS = 2
};

enum switch_of {
    SWITCH_TTL,           /* time to live of the table whose items expire (sim/work/work_ttl.h) */
    SWITCH_STREAM,        /* the stream that is followed (sim/work/work_streams.h) */
    SWITCH_TTL_OF_STREAM, /* the same tables, the other way round: nobody asks for these */
    SWITCH_STREAM_OF_TTL,
    SWITCHES
};

/* At last all is switched on that can be. */
struct work_clients *work_switches_create(const struct work_clients_options *options);

/* In the run of these clients. 0: not sure. Otherwise a number of the time since when it is sure
 * that this is on, or off. */
uint64_t work_switches_mark(const struct work_clients *of, enum switch_of which, bool *on);
