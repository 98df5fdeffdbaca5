/* item_requests.h - what the requests for items share: item_requests.c, item_writes.c. */
#pragma once

#include "engine/node/request/requests_internal.h"

/* The stages of a read, in the order in which each may refuse it, from 0; NULL: there are no more.
 * */
const char *read_stage_name(size_t number);
/* The partition of the request, if it is served here. NULL: the request was refused. */
struct partition *items_route(struct requests *requests, const struct operation *o);
/* Whether the partition holds the request's key. If not, the request was refused. */
bool items_holds_key(struct requests *requests, const struct partition *p,
                     const struct operation *o);
/* Charges the least that the request can cost. A request that was admitted before it waited is not
 * charged again. False: the request was refused. */
bool items_admit(struct requests *requests, struct partition *p, struct operation *o,
                 enum admit_kind kind, int64_t cost_mcu);
/* Charges what the request costs beyond that, and counts the request as admitted. */
void items_settle(struct requests *requests, struct partition *p, struct operation *o,
                  enum admit_kind kind, int64_t extra_mcu);
/* The request is refused although it was admitted. Gives back what items_admit charged, if it was
 * not counted yet: so counts never fall. */
void items_uncharge(struct requests *requests, struct partition *p, struct operation *o,
                    enum admit_kind kind);
/* Gives back what was charged for what will not be done. */
void items_give_back(struct requests *requests, struct partition *p, const struct operation *o,
                     enum admit_kind kind, int64_t cost_mcu);
/* Whether a stored item may be used. `walked`: an expression will go through its attributes. Then
 * their structure is checked too, because the bytes may come from a peer that computed a checksum
 * over anything. */
static inline bool items_is_valid(struct slice item, bool walked)
{
    return walked ? item_check(item) == STATUS_OK : item_checksum_holds(item);
}

/* The item, or a row about it, cannot be read. */
void items_refuse_corrupt(struct requests *requests, const struct operation *o, enum status status);
