/* work_streams.c - clients that write items of a table with a stream, and one that reads the
 * stream. */
#include "sim/work/work_streams.h"

#include <stdlib.h>

#include "base/probe.h"
#include "base/settings/streams.h"
#include "sim/check/list_append.h"
#include "sim/plan/plan_extras.h"

#define STREAMS "DynamoDBStreams_20120810."

const char work_streams_table[] = "followed";

enum {
    POLL_MS = 300,           /* between two polls of the shards */
    TRIM_NEVER_MS = 3600000, /* in a run, if records are kept for longer */
    ID_SIZE = 64,
    NUMBER_SIZE = 48,
    STREAMS_MAX = 256
};

enum stream_step {
    STREAM_WRITE = WORK_STEPS, /* a writer's */
    STREAM_STREAMS,            /* the reader's, as the next ones: ListStreams */
    STREAM_SHARDS,             /* DescribeStream */
    STREAM_ITERATOR,           /* GetShardIterator */
    STREAM_RECORDS,            /* GetRecords */
    STREAM_READ,
};

/* A record of a table that others write. */
struct stream_edge {
    uint32_t key;
    uint64_t was; /* numbers of items; 0: there was none */
    uint64_t is;
};

/* What the reader knows of the items by the records of a stream. */
struct consumed_stream {
    struct buffer arn;
    uint64_t values[WORK_STREAMS_KEYS]; /* of the items; 0: there is none */
    bool known[WORK_STREAMS_KEYS];
    char last[WORK_STREAMS_KEYS][NUMBER_SIZE];
};

/* A write of an item. */
struct stream_write {
    struct instant begun;
    uint64_t mark;     /* of the switches when it began; 0: not sure */
    bool on;           /* there was a stream */
    bool acknowledged; /* and what was sure has not changed since */
    bool seen;         /* its record */
};

struct consumed_shard {
    uint32_t stream;
    char id[ID_SIZE];
    char parent[ID_SIZE]; /* empty: none */
    bool ended;
    bool trimmed;           /* records were: the next read begins with the first that is there */
    char last[NUMBER_SIZE]; /* the sequence number of the last record; empty: none yet */
    struct buffer iterator; /* owns; empty: none */
};

/* Client 0 is the reader. */
struct stream_client {
    struct work_client client;
    uint64_t write; /* the number of the call's; 0: a deletion */
};

struct work_streams {
    struct work_clients clients;
    const char *table; /* borrows */
    bool of_lists;     /* the clients of transactions write */
    int64_t kept_ms;   /* a record is surely there for so long; INT64_MAX: for the whole run */
    struct consumed_stream streams[STREAMS_MAX];
    uint32_t stream_count;
    uint32_t stream;               /* that is being described */
    struct consumed_shard *shards; /* owns */
    uint32_t shard_count;
    size_t shard_capacity;
    uint32_t shard; /* that is being read */
    bool found;     /* since the last poll of the shards, a record or an end */
    char after[ID_SIZE];
    uint64_t read[WORK_STREAMS_KEYS]; /* the same, by the last strong reads */
    uint32_t reads;
    uint32_t next;               /* the item to read */
    uint64_t numbers;            /* used so far */
    struct stream_write *writes; /* owns; by number */
    size_t write_capacity;
    struct stream_edge *edges; /* owns */
    uint32_t edge_count;
    size_t edge_capacity;
    bool last_round; /* nothing was written any more when the present look at the streams began */
    uint32_t records;
};

static struct work_streams *streams_of(const struct stream_client *c)
{
    return (struct work_streams *)c->client.all;
}

/* ---- reading answers ---- */

static void text_keep(char *out, size_t size, struct slice text)
{
    const size_t kept = text.size < size - 1 ? text.size : size - 1;
    memset(out, 0, size);
    if (kept > 0)
        memcpy(out, text.data, kept);
}

/* The part of `rest` from `begin` to the next `begin`. False: there is none. */
static bool next_part(struct slice *rest, const char *begin, struct slice *out)
{
    const size_t size = strlen(begin);
    const struct slice part = dynamo_behind(*rest, begin), next = dynamo_behind(part, begin);
    if (part.data == NULL)
        return false;
    *rest = next.data == NULL ? slice_make(part.data + part.size, 0)
                              : slice_make(next.data - size, next.size + size);
    *out = slice_make(part.data - size, (size_t)(rest->data - part.data) + size);
    return true;
}

/* ---- records ---- */

static void work_streams_wrong(struct work_streams *f, const char *why, struct slice record)
{
    if (f->clients.wrong.size > 0)
        return;
    buffer_append_format(&f->clients.wrong, "%s, after %u records, in shard %s: %.*s\n", why,
                         f->records, f->shards[f->shard].id, (int)record.size,
                         (const char *)record.data);
}

/* What is between the names, or empty. */
static struct slice image_of(struct slice record, const char *name, const char *next)
{
    const struct slice rest = dynamo_behind(record, name), end = dynamo_behind(rest, next);
    return end.data == NULL ? rest
                            : slice_make(rest.data, (size_t)(end.data - rest.data) - strlen(next));
}

/* Whether the record of the write with this number may have been trimmed. Deletions have no number.
 * */
static bool may_be_trimmed(const struct work_streams *f, uint64_t number)
{
    const int64_t kept_ms = f->kept_ms;
    return kept_ms != INT64_MAX &&
           (number == 0 || number > f->numbers ||
            !instant_before(work_clients_now(&f->clients),
                            instant_add_ms(f->writes[number].begun, kept_ms)));
}

static void take_edge(struct work_streams *f, struct stream_edge edge)
{
    f->edges = must_grow(f->edges, f->edge_count, &f->edge_capacity, sizeof f->edges[0]);
    f->edges[f->edge_count++] = edge;
    f->records++;
}

static void take_record(struct work_streams *f, struct slice record)
{
    char number[NUMBER_SIZE];
    const uint64_t key = dynamo_number(record, "\"Keys\":{\"k\":{\"S\":\"");
    const bool has_old = dynamo_contains(record, "\"OldImage\"");
    const struct slice old = image_of(record, "\"OldImage\"", "\"SequenceNumber\"");
    const struct slice now =
        image_of(record, "\"NewImage\"", has_old ? "\"OldImage\"" : "\"SequenceNumber\"");
    const uint64_t was = dynamo_value(old), is = dynamo_value(now);
    struct consumed_shard *shard = &f->shards[f->shard];
    struct consumed_stream *stream = &f->streams[shard->stream];
    text_keep(number, sizeof number, dynamo_text(record, "\"SequenceNumber\":\""));
    if (f->of_lists) {
        const struct slice list = dynamo_text(record, "\"s\":{\"S\":\"");
        if (list.size > 0 &&
            list.data[0] != 'm') /* a mark is put and deleted: its values say nothing */
            take_edge(f, (struct stream_edge){(uint32_t)dynamo_number(record, "\"s\":{\"S\":\""),
                                              was, is});
        memcpy(shard->last, number, sizeof number);
        return;
    }
    if (key >= WORK_STREAMS_KEYS || was > f->numbers || is > f->numbers)
        work_streams_wrong(f, "a record of no item", record);
    else if (stream->known[key] && stream->values[key] != was && !may_be_trimmed(f, was))
        work_streams_wrong(f, "a record does not follow the one before", record);
    else if (strcmp(number, stream->last[key]) <= 0 || strcmp(number, shard->last) <= 0)
        work_streams_wrong(f, "a sequence number does not rise", record);
    else if (was == is)
        work_streams_wrong(f, "a record of no change", record);
    else if (is != 0 && f->writes[is].seen)
        work_streams_wrong(f, "a write has two records", record);
    if (f->clients.wrong.size > 0)
        return;
    f->writes[is].seen = true;
    stream->values[key] = is;
    stream->known[key] = true;
    memcpy(stream->last[key], number, sizeof number);
    memcpy(shard->last, number, sizeof number);
    f->records++;
}

static void take_records(struct work_streams *f, struct slice body)
{
    struct slice rest = body, record;
    struct consumed_shard *shard = &f->shards[f->shard];
    const struct slice next = dynamo_text(body, "\"NextShardIterator\":\"");
    while (f->clients.wrong.size == 0 && next_part(&rest, "{\"eventID\":", &record)) {
        take_record(f, record);
        f->found = true;
    }
    buffer_set(&shard->iterator, next);
    shard->trimmed = false;
    if (next.size == 0) {
        shard->ended = true;
        f->found = true;
    }
}

/* ---- shards ---- */

static struct consumed_shard *shard_find(struct work_streams *f, uint32_t stream, const char *id)
{
    for (uint32_t i = 0; i < f->shard_count; i++) {
        if (f->shards[i].stream == stream && strcmp(f->shards[i].id, id) == 0)
            return &f->shards[i];
    }
    return NULL;
}

/* The first stream was there before the first item, unless it is gone already. */
static void take_streams(struct work_streams *f, struct slice body)
{
    struct slice rest = body, part;
    const bool all = f->stream_count == 0 && f->kept_ms == INT64_MAX;
    while (next_part(&rest, "\"StreamArn\":\"", &part)) {
        const struct slice arn = dynamo_text(part, "\"StreamArn\":\"");
        uint32_t i = 0;
        while (i < f->stream_count && !slice_equal(arn, buffer_slice(&f->streams[i].arn)))
            i++;
        if (i < f->stream_count)
            continue;
        must(f->stream_count < STREAMS_MAX);
        struct consumed_stream *s = &f->streams[f->stream_count++];
        buffer_set(&s->arn, arn);
        memset(s->known, all && i == 0, sizeof s->known);
    }
}

static void take_shards(struct work_streams *f, struct slice body)
{
    struct slice rest = body, part;
    char id[ID_SIZE];
    while (next_part(&rest, "{\"ShardId\":\"", &part)) {
        text_keep(id, sizeof id, dynamo_text(part, "{\"ShardId\":\""));
        if (shard_find(f, f->stream, id) != NULL)
            continue;
        f->shards = must_grow(f->shards, f->shard_count, &f->shard_capacity, sizeof f->shards[0]);
        struct consumed_shard *shard = &f->shards[f->shard_count++];
        *shard = (struct consumed_shard){.stream = f->stream};
        memcpy(shard->id, id, sizeof id);
        text_keep(shard->parent, sizeof shard->parent, dynamo_text(part, "\"ParentShardId\":\""));
    }
    text_keep(f->after, sizeof f->after, dynamo_text(body, "\"LastEvaluatedShardId\":\""));
}

static bool shard_may_be_read(struct work_streams *f, const struct consumed_shard *shard)
{
    const struct consumed_shard *parent =
        shard->parent[0] != 0 ? shard_find(f, shard->stream, shard->parent) : NULL;
    return !shard->ended && (parent == NULL || parent->ended);
}

/* The next shard to read, from `f->shard` on. False: none is left before the next poll. */
static bool shard_choose(struct work_streams *f)
{
    while (f->shard < f->shard_count && !shard_may_be_read(f, &f->shards[f->shard]))
        f->shard++;
    return f->shard < f->shard_count;
}

/* ---- requests ---- */

/* Returns the number of the write. */
static uint64_t client_begin_write(struct stream_client *c)
{
    struct work_streams *f = streams_of(c);
    const uint64_t number = ++f->numbers;
    f->writes = must_grow(f->writes, number, &f->write_capacity, sizeof f->writes[0]);
    struct stream_write *w = &f->writes[number];
    *w = (struct stream_write){.begun = work_clients_now(&f->clients)};
    w->mark = work_switches_mark(&f->clients, SWITCH_STREAM, &w->on);
    c->write = number;
    return number;
}

static void client_end_write(struct stream_client *c, int status)
{
    struct work_streams *f = streams_of(c);
    struct stream_write *w = &f->writes[c->write];
    bool on;
    w->acknowledged = c->write != 0 && status == 200 && w->mark != 0 &&
                      w->mark == work_switches_mark(&f->clients, SWITCH_STREAM, &on);
}

static const char *write_item(struct stream_client *c)
{
    struct buffer *out = &c->client.body;
    const uint32_t key = (uint32_t)prng_below(&c->client.prng, WORK_STREAMS_KEYS);
    const uint64_t number = client_begin_write(c), what = prng_below(&c->client.prng, 10);
    buffer_append_format(out, "{\"TableName\":\"%s\",", work_streams_table);
    if (what < 5) {
        buffer_append_format(out, "\"Item\":{\"k\":{\"S\":\"%u\"},\"v\":{\"N\":\"%llu\"}}}", key,
                             (unsigned long long)number);
        return "PutItem";
    }
    buffer_append_format(out, "\"Key\":{\"k\":{\"S\":\"%u\"}}", key);
    if (what < 7) {
        c->write = 0;
        buffer_append_text(out, "}");
        return "DeleteItem";
    }
    buffer_append_format(out,
                         ",\"UpdateExpression\":\"SET v = :v\",\"ExpressionAttributeValues\":"
                         "{\":v\":{\"N\":\"%llu\"}}}",
                         (unsigned long long)number);
    return "UpdateItem";
}

static void append_arn(struct buffer *out, const struct work_streams *f, uint32_t stream)
{
    buffer_append_format(out, "{\"StreamArn\":\"%.*s\"", TEXT_OF(f->streams[stream].arn));
}

/* From the first record that is there, or behind the last one that was read. */
static void write_iterator(struct stream_client *c)
{
    const struct consumed_shard *shard = &streams_of(c)->shards[streams_of(c)->shard];
    const bool goes_on = shard->last[0] != 0 && !shard->trimmed;
    append_arn(&c->client.body, streams_of(c), shard->stream);
    buffer_append_format(&c->client.body, ",\"ShardId\":\"%s\",\"ShardIteratorType\":\"%s\"",
                         shard->id, goes_on ? "AFTER_SEQUENCE_NUMBER" : "TRIM_HORIZON");
    if (goes_on)
        buffer_append_format(&c->client.body, ",\"SequenceNumber\":\"%s\"", shard->last);
    buffer_append_text(&c->client.body, "}");
}

static void write_get_records(struct stream_client *c)
{
    const struct consumed_shard *shard = &streams_of(c)->shards[streams_of(c)->shard];
    buffer_append_format(&c->client.body, "{\"ShardIterator\":\"%.*s\",\"Limit\":%u}",
                         TEXT_OF(shard->iterator), (uint32_t)prng_between(&c->client.prng, 1, 20));
}

static const char *stream_table(const void *client, struct dynamo_spec *spec)
{
    static const struct dynamo_keys keys = {.partition = ATTR_STRING};
    const struct work_streams *f = streams_of(client);
    const struct workload *w = &work_clients_plan(&f->clients)->workload;
    *spec = (struct dynamo_spec){.keys = &keys, .units = w->partitions * w->units, .streams = true};
    return f->table;
}

static void write_shards(struct stream_client *c)
{
    const struct work_streams *f = streams_of(c);
    append_arn(&c->client.body, f, f->stream);
    if (f->after[0] != 0)
        buffer_append_format(&c->client.body, ",\"ExclusiveStartShardId\":\"%s\"", f->after);
    buffer_append_text(&c->client.body, ",\"Limit\":5}");
}

static void write_read(struct stream_client *c)
{
    const struct work_streams *f = streams_of(c);
    buffer_append_text(&c->client.body, "{\"ConsistentRead\":true,");
    if (f->of_lists)
        list_append_key(&c->client.body, f->next, false);
    else
        buffer_append_format(&c->client.body, "\"TableName\":\"%s\",\"Key\":{\"k\":{\"S\":\"%u\"}}",
                             f->table, f->next);
    buffer_append_text(&c->client.body, "}");
}

/* The next shard to read, or what to do when there is none. False: the reader rests before its next
 * look at the shards. */
static bool reader_choose(struct stream_client *c)
{
    struct work_streams *f = streams_of(c);
    if (shard_choose(f)) {
        if (f->shards[f->shard].iterator.size == 0)
            c->client.step = STREAM_ITERATOR;
        return true;
    }
    c->client.step = !f->found && f->last_round ? STREAM_READ : STREAM_STREAMS;
    return f->found || c->client.step == STREAM_READ;
}

static const char *stream_write(void *client)
{
    struct stream_client *c = client;
    buffer_clear(&c->client.body);
    if (c->client.step == STREAM_RECORDS && !reader_choose(c))
        return NULL;
    switch ((enum stream_step)c->client.step) {
    case STREAM_WRITE:
        return write_item(c);
    case STREAM_STREAMS:
        dynamo_table(&c->client.body, streams_of(c)->table);
        return STREAMS "ListStreams";
    case STREAM_SHARDS:
        write_shards(c);
        return STREAMS "DescribeStream";
    case STREAM_ITERATOR:
        write_iterator(c);
        return STREAMS "GetShardIterator";
    case STREAM_RECORDS:
        write_get_records(c);
        return STREAMS "GetRecords";
    case STREAM_READ:
        write_read(c);
        return "GetItem";
    }
    return NULL;
}

/* ---- answers ---- */

/* Others write the items, and a sharded key has records in several shards, which have no order.
 * Each number is the new one of one record of its key, and the old one of another, but for the
 * number that is left. */
static bool edges_agree(const struct work_streams *f)
{
    for (uint32_t i = 0; i < f->edge_count; i++) {
        const struct stream_edge e = f->edges[i];
        uint32_t made = 0, replaced = 0;
        for (uint32_t k = 0; k < f->edge_count; k++) {
            made += f->edges[k].key == e.key && f->edges[k].is == e.is;
            replaced += f->edges[k].key == e.key && f->edges[k].was == e.is;
        }
        if (e.key >= WORK_STREAMS_KEYS ||
            (e.is != 0 && (made != 1 || replaced != (f->read[e.key] != e.is))))
            return false;
    }
    return true;
}

/* Whether each item is what its last record in the last stream says, or that record may have been
 * trimmed. */
static bool work_streams_agree(const struct work_streams *f)
{
    bool on;
    const bool sure = work_switches_mark(&f->clients, SWITCH_STREAM, &on) != 0;
    if (f->stream_count == 0 || (sure && !on))
        return true; /* there is no stream any more */
    if (f->of_lists)
        return f->kept_ms != INT64_MAX || edges_agree(f);
    const struct consumed_stream *s = &f->streams[f->stream_count - 1];
    for (uint32_t key = 0; key < WORK_STREAMS_KEYS; key++) {
        if (s->known[key] && f->read[key] != s->values[key] && !may_be_trimmed(f, f->read[key]))
            return false;
    }
    return true;
}

/* Each write while there was surely a stream has a record, and none while there surely was no
 * stream. */
static void work_streams_check(struct work_streams *f)
{
    for (uint64_t i = 1; i <= f->numbers && f->clients.wrong.size == 0; i++) {
        const struct stream_write *w = &f->writes[i];
        if (w->acknowledged && w->on != w->seen && !(w->on && may_be_trimmed(f, i)))
            buffer_append_format(&f->clients.wrong,
                                 "write %llu has %s record, and there was %s stream\n",
                                 (unsigned long long)i, w->seen ? "a" : "no", w->on ? "a" : "no");
    }
}

/* An item. After the last one they are compared. */
static void take_item(struct stream_client *c, struct slice body)
{
    struct work_streams *f = streams_of(c);
    f->reads++;
    f->read[f->next] = dynamo_value(body);
    if (++f->next < WORK_STREAMS_KEYS)
        return;
    f->next = 0;
    const bool agree = work_streams_agree(f);
    c->client.step = agree ? WORK_STEP_DONE : STREAM_STREAMS;
    if (agree)
        work_streams_check(f);
}

/* Whether nothing is written any more, not even by a call whose outcome is unknown. */
static bool writes_are_over(struct work_streams *f)
{
    const bool others =
        !f->of_lists || work_clients_are_done(work_clients_of_run(&f->clients, WORK_TRANSACTIONS));
    return others && work_clients_are_quiet(&f->clients) && f->clients.ending &&
           work_clients_are_done(work_clients_of_run(&f->clients, WORK_SWITCHES));
}

/* Goes on to the next stream, or to the records. */
static void client_end_shards(struct stream_client *c)
{
    struct work_streams *f = streams_of(c);
    if (f->after[0] != 0 || ++f->stream < f->stream_count)
        return;
    f->shard = 0;
    c->client.step = STREAM_RECORDS;
}

static void client_take(struct stream_client *c, struct slice body)
{
    struct work_streams *f = streams_of(c);
    switch ((enum stream_step)c->client.step) {
    case STREAM_STREAMS:
        take_streams(f, body);
        f->stream = 0;
        f->found = false;
        f->shard = 0;
        f->last_round = writes_are_over(f);
        c->client.step = f->stream_count > 0 ? STREAM_SHARDS : STREAM_RECORDS;
        break;
    case STREAM_SHARDS:
        take_shards(f, body);
        client_end_shards(c);
        break;
    case STREAM_ITERATOR:
        buffer_set(&f->shards[f->shard].iterator, dynamo_text(body, "\"ShardIterator\":\""));
        c->client.step = STREAM_RECORDS;
        break;
    case STREAM_RECORDS:
        take_records(f, body);
        f->shard++;
        break;
    case STREAM_READ:
        take_item(c, body);
        break;
    case STREAM_WRITE:
        break;
    }
}

static void client_refused(struct stream_client *c, int status, struct slice body)
{
    struct work_streams *f = streams_of(c);
    const bool reads_shard = c->client.step == STREAM_ITERATOR || c->client.step == STREAM_RECORDS;
    const bool trims = f->kept_ms != INT64_MAX;
    struct consumed_shard *shard = reads_shard ? &f->shards[f->shard] : NULL;
    if (c->client.step == STREAM_RECORDS && dynamo_contains(body, "ExpiredIterator")) {
        buffer_clear(&shard->iterator);
    } else if (trims && reads_shard && dynamo_contains(body, "TrimmedDataAccess")) {
        PROBE("who reads a stream comes too late for its records");
        buffer_clear(&shard->iterator);
        shard->ended = shard->trimmed || shard->last[0] == 0; /* all of it */
        shard->trimmed = true;
        f->found = true;
        c->client.step = STREAM_RECORDS;
    } else if (trims && reads_shard && dynamo_contains(body, "ResourceNotFound")) {
        PROBE("a shard is forgotten before it was read to its end");
        shard->ended = f->found = true;
        c->client.step = STREAM_RECORDS;
    } else if (trims && c->client.step == STREAM_SHARDS &&
               dynamo_contains(body, "ResourceNotFound")) {
        f->after[0] = 0; /* the stream is forgotten, or the shard after which the page goes on */
        client_end_shards(c);
    } else if (status == 400 && !dynamo_contains(body, "Throttl") &&
               !dynamo_contains(body, "ThroughputExceeded") && c->client.step != STREAM_READ)
        work_streams_wrong(f, "a read of the stream is refused", body);
}

static void stream_answered(void *client, int status, struct slice body)
{
    struct stream_client *c = client;
    if (c->client.step == STREAM_WRITE) {
        client_end_write(c, status);
        c->client.step = WORK_STEP_IDLE;
        return;
    }
    if (status == 200)
        client_take(c, body);
    else
        client_refused(c, status, body);
    if (c->client.all->wrong.size > 0)
        c->client.step = WORK_STEP_DONE;
}

/* ---- what to do ---- */

static void stream_choose(void *client)
{
    struct stream_client *c = client;
    const struct work_clients *all = c->client.all;
    if (c->client.number > 0 && all->ending)
        c->client.step = WORK_STEP_DONE;
    else if (work_client_has_tables(&c->client))
        c->client.step = c->client.number == 0 ? STREAM_STREAMS : STREAM_WRITE;
}

static void stream_describe_all(const void *all, struct buffer *out)
{
    const struct work_streams *f = all;
    for (uint32_t i = 0; i < f->shard_count; i++)
        buffer_append_format(out, "shard %s, parent %s%s, last record %s\n", f->shards[i].id,
                             f->shards[i].parent, f->shards[i].ended ? ", ended" : "",
                             f->shards[i].last);
    for (uint32_t i = 0; f->stream_count > 0 && i < WORK_STREAMS_KEYS; i++)
        buffer_append_format(out, "item %u: %llu, by the last of %u reads %llu\n", i,
                             (unsigned long long)f->streams[f->stream_count - 1].values[i],
                             f->reads, (unsigned long long)f->read[i]);
}

/* ---- life ---- */

static void stream_deinit(void *all)
{
    struct work_streams *f = all;
    for (uint32_t i = 0; i < f->shard_count; i++)
        buffer_deinit(&f->shards[i].iterator);
    for (uint32_t i = 0; i < f->stream_count; i++)
        buffer_deinit(&f->streams[i].arn);
    free(f->shards);
    free(f->writes);
    free(f->edges);
}

static const struct work_client_kind stream_kind = {.name = "of the stream",
                                                    .size = sizeof(struct work_streams),
                                                    .client_size = sizeof(struct stream_client),
                                                    .idle_ms = WORK_RETRY_MS,
                                                    .retry_ms = WORK_RETRY_MS,
                                                    .choose = stream_choose,
                                                    .write = stream_write,
                                                    .answered = stream_answered,
                                                    .table = stream_table,
                                                    .describe_all = stream_describe_all,
                                                    .deinit = stream_deinit};

static struct work_streams *streams_create(const struct work_clients_options *options)
{
    struct work_streams *f = work_clients_create(&stream_kind, options);
    const int64_t ms = config_streams(&options->run->plan.config)->stream_retention_ms;
    f->clients.tables = 1;
    f->table = work_streams_table;
    f->kept_ms = ms > TRIM_NEVER_MS ? INT64_MAX : ms - 2 * SIM_SHORT_SKEW_MS;
    if (options->count > 0) {
        struct work_client *reader = work_clients_at(&f->clients, 0);
        reader->idle_ms = POLL_MS;
    }
    return f;
}

struct work_clients *work_streams_create(const struct work_clients_options *options)
{
    return &streams_create(options)->clients;
}

bool work_streams_has_lists(const struct plan *p)
{
    return p->work_transactions > 0 && plan_has(p, SIM_MIXED) && p->work_lists <= WORK_STREAMS_KEYS;
}

struct work_clients *work_list_stream_create(const struct work_clients_options *options)
{
    struct work_streams *f = streams_create(options);
    f->clients.others_make = true;
    f->table = work_transactions_tables[WORK_TRANSACTION_TABLES - 1];
    f->of_lists = true;
    if (options->count > 0) { /* earlier seeds have its draws from the stream of the others */
        struct work_client *reader = work_clients_at(&f->clients, 0);
        reader->prng = prng_seeded(world_seed(&options->run->world, WORLD_WORK_STREAMS, 50));
    }
    return &f->clients;
}

bool work_streams_are_made(const struct work_clients *all)
{
    must(all->kind == &stream_kind);
    return all->made == all->tables;
}
