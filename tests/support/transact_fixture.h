/* transact_fixture.h - a lone node with two items, and a transaction that puts both: FIRST is its
 * anchor. */
#pragma once

#include "engine/message/message.h"
#include "engine/message/transaction_messages.h"
#include "engine/node/node_internal.h"
#include "tests/support/lone_node.h"

enum {
    FIRST = 1, /* names; the first is the anchor */
    SECOND = 2,
    OLD = 10, /* versions */
    NEW = 20,
    DECIDE_MS = 5000 /* transaction_decide_ms by default */
};

struct transact_fixture {
    struct lone_node w;
    struct transaction_part part;
    uint8_t token[TRANSACTION_TOKEN_SIZE];
    struct buffer anchor;
    struct buffer keys;
    struct buffer first; /* the bytes of the part, for the anchor */
    struct buffer other;
};

/* Both items are there, with the version OLD. */
void transact_open(struct transact_fixture *s);
void transact_close(struct transact_fixture *s);
/* The transaction that is asked for from now on. */
void transact_part(struct transact_fixture *s, uint64_t number, uint64_t digest);
void transact_put(struct transact_fixture *s, uint32_t name, uint32_t version);
/* Lets time pass, and writes what is to be written. */
void transact_pass(struct transact_fixture *s, int64_t ms);
/* The answer, after some time. */
enum reply_code transact_send(struct transact_fixture *s, const struct request *r);
/* The answer, if it comes before anything is written; REPLY_UNKNOWN: it does not. */
enum reply_code transact_at_once(struct transact_fixture *s, struct request r);
/* The request that has the item's part prepared: it puts the version NEW. transact_prepare: asks.
 * */
struct request transact_prepared(struct transact_fixture *s, uint32_t name);
enum reply_code transact_prepare(struct transact_fixture *s, uint32_t name);
/* REQUEST_TRANSACT_DECIDE, _RESOLVE or _ASK, about the item. transact_about: asks. */
struct request transact_word(struct transact_fixture *s, enum request_op op, uint32_t name);
enum reply_code transact_about(struct transact_fixture *s, enum request_op op, uint32_t name);
/* Strong reads find these versions. */
void transact_expect(struct transact_fixture *s, uint32_t first, uint32_t second);
/* A put that is no part of a transaction. */
enum reply_code transact_write(struct transact_fixture *s, uint32_t name);
struct partition_stats transact_stats(struct transact_fixture *s);
struct partition *transact_partition(struct transact_fixture *s);
