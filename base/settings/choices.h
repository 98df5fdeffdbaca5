/* choices.h - settings: a choice of a few names. The value of a setting is an enum constant.
 *
 * A row: name, default, a help text of full sentences, and the names in the order of the enum. */
#pragma once

#include "base/config.h"
#include "base/gac_policy.h"

/* What a burst write needs from the nodes of the other members. */
enum write_check {
    WRITE_CHECK_OFF,   /* nothing */
    WRITE_CHECK_GAUGE, /* headroom in their last report */
    WRITE_CHECK_LEASE, /* tokens they have set aside for this node */
    WRITE_CHECK_NAMED, /* as the policy headroom_policy says */
};

/* What counts as the headroom of a member that is unresponsive for longer than
 * report_deadline_ms. */
enum dead_member {
    DEAD_MEMBER_EXCLUDE,    /* the member is left out: it does no work */
    DEAD_MEMBER_LAST_KNOWN, /* the headroom that it reported last */
    DEAD_MEMBER_ZERO,       /* no headroom */
};

/* Whose tokens an eventual read may use. */
enum read_tokens {
    READ_TOKENS_LOCAL, /* tokens of the replica that serves the read */
    READ_TOKENS_GROUP, /* tokens of any replica */
};

/* The buckets of eventual reads that different replicas serve. */
enum read_cap {
    READ_CAP_GROUP,    /* the leader's buckets for all replicas */
    READ_CAP_MEASURED, /* READ_CAP_GROUP; two thirds of the reads count for the maximum */
    READ_CAP_REPLICA,  /* each replica has its own buckets */
};

/* What pages and records show of the keys of items. */
enum show_keys {
    SHOW_KEYS_HASH, /* a hash */
    SHOW_KEYS_OWN,  /* the key, but only to who names the request that has it */
    SHOW_KEYS_FULL, /* the key */
};

/* clang-format off */
#define SETTINGS_CHOICES(X)                                                                        \
    X(write_check, WRITE_CHECK_GAUGE,                                                              \
      "The check of the other nodes of a partition by burst writes: off: none. gauge: headroom. "  \
      "lease: leased tokens. named: by headroom_policy.",                                          \
      "off", "gauge", "lease", "named")                                                            \
    X(dead_member, DEAD_MEMBER_EXCLUDE,                                                            \
      "Burst writes and a node that is unresponsive for report_deadline_ms: exclude: they do "     \
      "not check it. last_known: they use its last report. zero: it has no headroom.",             \
      "exclude", "last_known", "zero")                                                             \
    X(read_cap, READ_CAP_GROUP,                                                                    \
      "A partition's limits of eventual reads hold for: group: all its replicas together. "        \
      "measured: the same, with 1.5 times its maximum. replica: each replica.",                    \
      "group", "measured", "replica")                                                              \
    X(read_tokens, READ_TOKENS_LOCAL,                                                              \
      "An eventual read uses the tokens of: local: one replica. group: any replica.",              \
      "local", "group")                                                                            \
    X(gac, GAC_OFF,                                                                                \
      "The policy by which routers share a table's limit, unless the table's tag weir:gac names "  \
      "another. named: by gac_policy.",                                                            \
      "off", "static", "periodic", "lease", "named")                                               \
    X(show_keys, SHOW_KEYS_HASH,                                                                   \
      "What `weir explain` and the pages below /weir/ show of keys: hash: a hash. own: the key, "  \
      "but only if the request id is given. full: the key. weir local has full.",                  \
      "hash", "own", "full")
/* clang-format on */

CONFIG_AREA(choices, CHOICES)
