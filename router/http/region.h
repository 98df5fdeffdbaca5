/* region.h - the region that a client takes the endpoint for.
 *
 * Authorization: AWS4-HMAC-SHA256 Credential=KEY/20260101/eu-west-1/dynamodb/aws4_request, ..
 * has the region eu-west-1.
 *
 * Promises: what is found is valid, so that it can stand in an ARN and in JSON as it is. No form of
 * the header is an error: a request without a readable scope has no region.
 * Source: Signature Version 4, the credential scope. The signature is not checked.
 * Not here: the region of a request without one (router/core/operation.h, call_region). */
#pragma once

#include "base/slice.h"

enum {
    REGION_SIZE_MAX = 32
};

/* 1 to REGION_SIZE_MAX characters of a-z, 0-9 and -. */
bool region_is_valid(struct slice region);

/* The region in the value of an Authorization header; borrows from it. Size 0: there is none. */
struct slice region_of_authorization(struct slice value);
