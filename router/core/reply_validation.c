/* reply_validation.c - checks the items and records of a node's reply. */
#include "router/core/reply_validation.h"

#include "engine/item/item.h"
#include "engine/message/message.h"
#include "engine/message/stream_messages.h"
#include "engine/stream/stream.h"

static bool reply_records_are_valid(struct slice records)
{
    struct reader r = {records, false};
    while (r.left.size > 0) {
        struct reader row = {reader_sized(&r), false};
        struct stream_record record;
        reader_u64(&row);
        reader_u32(&row);
        if (r.failed || row.failed || stream_record_decode(row.left, &record) != STATUS_OK ||
            (record.old.size > 0 && !item_is_readable(record.old)) ||
            (record.now.size > 0 && !item_is_readable(record.now)))
            return false;
    }
    return true;
}

bool reply_items_are_valid(const struct reply *reply)
{
    struct reader items = {reply->range.items, false};
    if (reply->kind == ANSWER_ITEM)
        return !reply->item.found || item_is_readable(reply->item.bytes);
    if (reply->kind == ANSWER_RECORDS)
        return reply_records_are_valid(reply_records(reply)->records);
    while (reply->kind == ANSWER_RANGE && items.left.size > 0) {
        struct slice item = reader_sized(&items);
        if (items.failed || !item_is_readable(item))
            return false;
    }
    return true;
}
