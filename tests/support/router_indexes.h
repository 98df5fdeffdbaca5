/* router_indexes.h - tables with global indexes, for tests of the router. Include after check.h. */
#pragma once

#include "tests/support/expect.h"

#define ARN "arn:aws:dynamodb:us-east-1:000000000000:table/"

#define DEFINE(name, type) "{\"AttributeName\":\"" name "\",\"AttributeType\":\"" type "\"}"
#define KEY(name, kind)    "{\"AttributeName\":\"" name "\",\"KeyType\":\"" kind "\"}"
#define ALL                "\"Projection\":{\"ProjectionType\":\"ALL\"}"
#define UNITS(r, w) \
    "\"ProvisionedThroughput\":{\"ReadCapacityUnits\":" r ",\"WriteCapacityUnits\":" w "}"
#define INDEX(name, keys, more) "{\"IndexName\":\"" name "\",\"KeySchema\":[" keys "]" more "}"

/* A table of the key p with these attributes, indexes and other members. */
static inline struct fake_answer create_table(struct fake_cluster *f, const char *name,
                                              const char *defined, const char *indexes,
                                              const char *more)
{
    char request[8192];
    snprintf(request, sizeof request,
             "{\"TableName\":\"%s\",\"KeySchema\":[" KEY(
                 "p", "HASH") "],"
                              "\"AttributeDefinitions\":[" DEFINE(
                                  "p", "S") "%s],\"GlobalSecondaryIndexes\":[%s],"
                                            "%s}",
             name, defined, indexes, more);
    return fake_call(f, "CreateTable", request);
}

#define ON_DEMAND   "\"BillingMode\":\"PAY_PER_REQUEST\""
#define PROVISIONED UNITS("5", "5")
#define DEFINED_A   "," DEFINE("a", "S")
#define A_HASH      KEY("a", "HASH")

static inline void expect_within(struct fake_answer a, const char *part)
{
    if (a.status != 200 || memmem(a.body.data, a.body.size, part, strlen(part)) == NULL)
        fail_msg("%s is not in %.*s", part, (int)a.body.size, (const char *)a.body.data);
}

static inline void expect_absent(struct fake_answer a, const char *part)
{
    if (a.status != 200 || memmem(a.body.data, a.body.size, part, strlen(part)) != NULL)
        fail_msg("%s is in %.*s", part, (int)a.body.size, (const char *)a.body.data);
}

/* Provisioned, with the indexes by-a and by-b. */
static inline void create_provisioned(struct fake_cluster *f)
{
    struct fake_answer a =
        create_table(f, "units", DEFINED_A "," DEFINE("b", "N"),
                     INDEX("by-a", A_HASH, "," ALL "," UNITS("3", "2")) "," INDEX(
                         "by-b", KEY("b", "HASH") "," KEY("a", "RANGE"),
                         ",\"Projection\":{\"ProjectionType\":\"KEYS_ONLY\"}," UNITS("7", "6")),
                     PROVISIONED);
    assert_int_equal(a.status, 200);
}

#define UPDATE(name, more) "{\"Update\":{\"IndexName\":\"" name "\"" more "}}"
#define UPDATES(table, list) \
    "{\"TableName\":\"" table "\",\"GlobalSecondaryIndexUpdates\":[" list "]}"
