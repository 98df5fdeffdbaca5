/* Formats that weir writes and reads again: what can be written is read back as it was, and a step
 * beyond the reader's bounds cannot be written, or is refused. Sizes and numbers are drawn at their
 * ends more often than between. Leases: tests/unit/router/lease_test.c; files of the lab:
 * lab_formats_property.c. */
#include "client/limiter_answer.h"
#include "engine/catalog/streams.h"
#include "engine/index/row.h"
#include "engine/limiter/bucket.h"
#include "router/core/key.h"
#include "router/json/json_writer.h"
#include "router/json/value.h"
#include "router/operations/shard_iterator.h"
#include "tests/check.h"
#include "tests/support/drawn.h"
#include "workload/history.h"
#include "workload/load_history.h"
#include "workload/trace_reader.h"

enum {
    SEEDS = 300,
    STEPS = 40
};

/* ---- shard iterators, sequence numbers ---- */

static void iterator_reads_as_it_was(struct prng *p)
{
    uint8_t arn[SHARD_ITERATOR_SIZE_MAX + 64];
    struct buffer text = {0};
    for (int i = 0; i < STEPS; i++) {
        struct shard_iterator it = {.partition = (uint32_t)drawn_bits(p),
                                    .epoch = drawn_bits(p),
                                    .index = drawn_bits(p),
                                    .place = (uint32_t)drawn_bits(p),
                                    .made_ms = drawn_number(p, -1, INT64_MAX)};
        struct shard_iterator read;
        it.arn = drawn_text(p, (enum drawn_alphabet)prng_below(p, DRAWN_ALPHABETS),
                            (size_t)drawn_number(p, 1, SHARD_ITERATOR_SIZE_MAX - 40), arn);
        buffer_clear(&text);
        shard_iterator_append(&text, &it);
        const bool fits =
            text.size <= SHARD_ITERATOR_SIZE_MAX && it.made_ms >= 0 && it.arn.size > 0;
        assert_int_equal(shard_iterator_read(buffer_slice(&text), &read), fits);
        if (!fits)
            continue;
        assert_true(slice_equal(read.arn, it.arn));
        assert_true(read.partition == it.partition && read.epoch == it.epoch);
        assert_true(read.index == it.index && read.place == it.place && read.made_ms == it.made_ms);
        text.data[prng_below(p, text.size)] ^= (uint8_t)(1 + prng_below(p, 255));
        assert_false(shard_iterator_read(buffer_slice(&text), &read));
    }
    buffer_deinit(&text);
}

TEST(a_shard_iterator_is_read_as_it_was_written)
{
    check_seeds(SEEDS, iterator_reads_as_it_was);
}

static void sequence_reads_as_it_was(struct prng *p)
{
    enum {
        PLACE_MOST = 9999
    };
    struct buffer text = {0};
    for (int i = 0; i < STEPS; i++) {
        const struct table_shard shard = {.depth = (uint32_t)drawn_number(p, 0, 1000000)};
        const uint64_t index = drawn_bits(p);
        const uint32_t place = (uint32_t)drawn_number(p, 0, PLACE_MOST + 1);
        uint64_t index_read;
        uint32_t place_read;
        buffer_clear(&text);
        table_sequence_append(&text, &shard, index, place);
        const bool read =
            table_sequence_read(&shard, buffer_slice(&text), &index_read, &place_read);
        assert_int_equal(read, place <= PLACE_MOST);
        assert_true(!read || (index_read == index && place_read == place));
    }
    buffer_deinit(&text);
}

TEST(a_sequence_number_is_read_as_it_was_written)
{
    check_seeds(SEEDS, sequence_reads_as_it_was);
}

/* ---- keys: LastEvaluatedKey as JSON, NextToken as an item ---- */

static struct attr key_value_of(struct prng *p, enum attr_type type, size_t most, uint8_t *room)
{
    if (type != ATTR_NUMBER)
        return (struct attr){type, drawn_text(p, type == ATTR_BINARY ? DRAWN_BYTES : DRAWN_TEXT,
                                              (size_t)drawn_number(p, 4, (int64_t)most), room)};
    char text[64] = "";
    struct number n;
    const int digits = (int)drawn_number(p, 1, 38),
              power = (int)drawn_number(p, -130, 125 - digits + 1);
    size_t size = (size_t)snprintf(text, sizeof text, "%s", prng_below(p, 2) ? "-" : "");
    for (int i = 0; i < digits; i++)
        text[size++] = (char)('0' + drawn_number(p, i == 0 || i + 1 == digits, 9));
    size += (size_t)snprintf(text + size, sizeof text - size, "e%d", power);
    assert_int_equal(number_parse(slice_make(text, size), &n), NUMBER_OK);
    return (struct attr){type, slice_make(room, number_encode(&n, room))};
}

static void assert_same_key(const struct key *a, const struct key *b)
{
    assert_true(a->partition.type == b->partition.type && a->sort.type == b->sort.type);
    assert_true(slice_equal(a->partition.body, b->partition.body));
    assert_true(slice_equal(a->sort.body, b->sort.body));
}

static struct attr json_attr(struct arena *arena, struct json_parser *parser,
                             const struct buffer *text, const char *name)
{
    struct buffer padded = {0};
    struct json_value root;
    struct attr out;
    struct fault fault = {0};
    buffer_append_slice(&padded, buffer_slice(text));
    buffer_reserve(&padded, JSON_PADDING);
    assert_int_equal(json_parse(parser, buffer_slice(&padded), &root), STATUS_OK);
    const struct json_value member = json_find(&root, name);
    assert_true(value_read_attr(arena, &member, &out, &fault));
    buffer_deinit(&padded);
    return out;
}

static void key_reads_as_it_was(struct prng *p)
{
    static const enum attr_type types[] = {ATTR_STRING, ATTR_NUMBER, ATTR_BINARY};
    static uint8_t rooms[2][PARTITION_KEY_SIZE_MAX + NUMBER_ENCODED_MAX];
    struct json_parser *parser = json_parser_create();
    struct arena arena = {0};
    struct buffer item = {0}, json = {0};
    for (int i = 0; i < STEPS; i++) {
        struct table t = {.partition_key = {slice_of("id"), types[prng_below(p, 3)]},
                          .sort_key = {slice_of("at"), types[prng_below(p, 3)]}};
        struct key key = {0}, read;
        struct fault fault = {0};
        key.partition = key_value_of(p, t.partition_key.type, PARTITION_KEY_SIZE_MAX, rooms[0]);
        key.sort = key_value_of(p, t.sort_key.type, SORT_KEY_SIZE_MAX, rooms[1]);
        buffer_clear(&item);
        buffer_clear(&json);
        key_append_row_item(&item, &t, NULL, &key);
        assert_int_equal(item_check(buffer_slice(&item)), STATUS_OK);
        assert_true(key_of_row_key(&t, NULL, buffer_slice(&item), &read, &fault));
        assert_same_key(&read, &key);
        key_write(&json, &t, NULL, &key);
        read = (struct key){.partition = json_attr(&arena, parser, &json, "id"),
                            .sort = json_attr(&arena, parser, &json, "at")};
        assert_same_key(&read, &key);
    }
    arena_deinit(&arena);
    buffer_deinit(&item);
    buffer_deinit(&json);
    json_parser_destroy(parser);
}

TEST(a_key_that_a_page_ends_with_begins_the_next_one)
{
    check_seeds(SEEDS / 3, key_reads_as_it_was);
}

/* ---- keys of rows of a global index ---- */

static uint64_t keys_of_rows;

static const struct slice row_names[] = {{(const uint8_t *)"id", 2}, {(const uint8_t *)"at", 2},
                                         {(const uint8_t *)"a", 1},  {(const uint8_t *)"b", 1},
                                         {(const uint8_t *)"c", 1},  {(const uint8_t *)"d", 1},
                                         {(const uint8_t *)"e", 1},  {(const uint8_t *)"f", 1},
                                         {(const uint8_t *)"g", 1},  {(const uint8_t *)"h", 1}};

/* What an item has of the attributes of row_names. */
struct drawn_item {
    struct key_attr attrs[COUNT_OF(row_names)];
    struct attr values[COUNT_OF(row_names)];
    struct buffer bytes;
    uint8_t rooms[COUNT_OF(row_names)][PARTITION_KEY_SIZE_MAX + NUMBER_ENCODED_MAX + 1];
};

/* The table's keys are "id" and "at"; they may be keys of the index as well. */
static void draw_index(struct prng *p, const struct drawn_item *item, struct index *x)
{
    uint32_t place = (uint32_t)prng_below(p, 3);
    *x = (struct index){.partition_count = (uint32_t)drawn_number(p, 1, INDEX_KEYS_MAX),
                        .sort_count = (uint32_t)drawn_number(p, 0, INDEX_KEYS_MAX)};
    for (uint32_t i = 0; i < x->partition_count + x->sort_count; i++)
        x->keys[i] = item->attrs[place++];
}

static void draw_item(struct prng *p, struct drawn_item *item)
{
    static const enum attr_type types[] = {ATTR_STRING, ATTR_NUMBER, ATTR_BINARY};
    struct item_writer w;
    buffer_clear(&item->bytes);
    item_begin(&w, &item->bytes);
    for (size_t i = 0; i < COUNT_OF(row_names); i++) {
        static const int64_t most[] = {PARTITION_KEY_SIZE_MAX, SORT_KEY_SIZE_MAX};
        const int64_t size_max = i < 2                  ? most[i]
                                 : prng_below(p, 8) > 0 ? SORT_KEY_SIZE_MAX / INDEX_KEYS_MAX
                                                        : most[prng_below(p, 2)] + 1;
        item->attrs[i] = (struct key_attr){row_names[i], types[prng_below(p, 3)]};
        item->values[i] = key_value_of(p, item->attrs[i].type, (size_t)drawn_number(p, 4, size_max),
                                       item->rooms[i]);
        item_name(&w, row_names[i]);
        item_attr(&w, &item->values[i]);
    }
    item_end(&w);
}

/* A row that an item has ends a page, and its key begins the next one. What can be no row's key is
 * refused. */
static void row_key_reads_as_it_was(struct prng *p)
{
    static struct drawn_item item;
    struct buffer token = {0};
    for (int i = 0; i < STEPS; i++) {
        struct attr values[2 * INDEX_KEYS_MAX];
        struct index x;
        struct key key, read;
        struct fault fault = {0};
        draw_item(p, &item);
        draw_index(p, &item, &x);
        const struct table t = {.partition_key = item.attrs[0], .sort_key = item.attrs[1]};
        const bool row =
            index_keys_of(&x, buffer_slice(&item.bytes), values) == INDEX_KEYS_COMPLETE;
        key_find(&t, &x, buffer_slice(&item.bytes), &key);
        buffer_clear(&token);
        key_append_row_item(&token, &t, &x, &key);
        assert_int_equal(item_check(buffer_slice(&token)), STATUS_OK);
        assert_int_equal(key_of_row_key(&t, &x, buffer_slice(&token), &read, &fault), row);
        fault_deinit(&fault);
        keys_of_rows += row;
        if (!row)
            continue;
        assert_same_key(&read, &key);
        for (uint32_t k = 0; k < x.partition_count + x.sort_count; k++) {
            assert_int_equal(read.index[k].type, x.keys[k].type);
            assert_true(slice_equal(read.index[k].body, values[k].body));
        }
    }
    buffer_deinit(&token);
    buffer_deinit(&item.bytes);
}

TEST(a_row_of_a_global_index_that_a_page_ends_with_begins_the_next_one)
{
    keys_of_rows = 0;
    check_seeds(SEEDS / 3, row_key_reads_as_it_was);
    if (getenv("SEED") == NULL) /* most keys are rows', and others are drawn, too */
        assert_in_range(keys_of_rows, SEEDS / 3 * STEPS / 3, SEEDS / 3 * STEPS - STEPS);
}

/* ---- answers of the rate limiter ---- */

/* Beyond the bounds of the product the library shows its largest number, and reads on. */
static int64_t shown_most(int64_t value, int64_t unit)
{
    const int64_t most = INT64_C(999999999999999) * unit;
    const int64_t less = value % unit; /* stands behind the point */
    return value > most ? most + less : value < -most ? -most + less : value;
}

static void answer_reads_as_it_was(struct prng *p)
{
    static const int status[] = {200, 204, 400, 403, 404, 409, 413, 429, 500, 503};
    static const char *const reasons[] = {"limit", "unavailable", "hidden"};
    uint8_t name[300];
    struct buffer text = {0};
    struct limiter_answer *read = must_calloc(1, sizeof *read);
    for (int i = 0; i < STEPS; i++) {
        const bool wild = prng_below(p, 4) == 0;
        const int64_t capacity =
                          wild ? (int64_t)drawn_bits(p) : drawn_number(p, 1, LIMITER_MTOK_MAX),
                      remaining =
                          wild ? (int64_t)drawn_bits(p) : drawn_number(p, 0, LIMITER_MTOK_MAX),
                      wait_ms =
                          wild ? (int64_t)drawn_bits(p) : drawn_number(p, 0, LIMITER_WAIT_MS_MAX);
        const char *reason = reasons[prng_below(p, COUNT_OF(reasons))];
        struct slice entity = drawn_text(p, DRAWN_TEXT, (size_t)drawn_number(p, 1, 256), name);
        buffer_clear(&text);
        json_write_open(&text, '{');
        json_member_bool(&text, "allowed", false);
        json_member_open(&text, "limits", '[');
        json_write_open(&text, '{');
        json_member_string(&text, "entity", entity);
        json_member_text(&text, "name", "rpm");
        json_member_thousandths(&text, "capacity", capacity);
        json_member_thousandths(&text, "remaining", remaining);
        json_member_integer(&text, "reset_ms", wait_ms);
        json_write_close(&text, '}');
        json_write_close(&text, ']');
        json_member_integer(&text, "retry_after_ms", wait_ms);
        json_member_text(&text, "reason", reason);
        json_write_close(&text, '}');
        buffer_reserve(&text, 1);
        assert_true(limiter_answer_read((char *)text.data, text.size, read));
        assert_int_equal(read->answer.balance_count, 1);
        assert_slice_is(entity, read->balances[0].entity);
        assert_int_equal(read->balances[0].capacity_mtok, shown_most(capacity, 1000));
        assert_int_equal(read->balances[0].remaining_mtok, shown_most(remaining, 1000));
        assert_int_equal(read->balances[0].reset_ms, shown_most(wait_ms, 1));
        assert_int_equal(read->answer.retry_after_ms, shown_most(wait_ms, 1));
        assert_string_equal(read->answer.reason, reason);
    }
    for (size_t i = 0; i < COUNT_OF(status); i++) { /* also if no more than the status is known */
        const enum weir_limiter_status s = limiter_answer_status(status[i], NULL);
        assert_int_equal(s == WEIR_LIMITER_OK, status[i] / 100 == 2);
        assert_int_equal(s == WEIR_LIMITER_REFUSED, status[i] == 429);
    }
    buffer_deinit(&text);
    free(read);
}

TEST(an_answer_of_the_limiter_is_read_as_it_was_written)
{
    check_seeds(SEEDS, answer_reads_as_it_was);
}

/* ---- traces ---- */

enum {
    TRACE_RECORDS = 8
};

static struct trace_record trace_record_of(struct prng *p)
{
    struct trace_record r = {.table = (uint32_t)drawn_bits(p),
                             .tenant = (uint32_t)drawn_bits(p),
                             .kind = (enum traffic_kind)prng_below(p, TRAFFIC_KINDS),
                             .size_bytes = (int32_t)drawn_number(p, 0, ITEM_SIZE_MAX),
                             .scan_length = 1,
                             .outcome = (enum trace_outcome)prng_below(p, TRACE_OUTCOMES)};
    r.consistent = traffic_kind_writes(r.kind) || prng_below(p, 2);
    if (r.kind == TRAFFIC_SCAN)
        r.scan_length = (int32_t)drawn_number(p, 1, 1000000);
    return r;
}

/* Reads the lines of the text; records go to `out`. */
static uint32_t trace_read(struct trace_reader *r, struct slice text, struct trace_record *out,
                           struct buffer *names)
{
    struct buffer error = {0};
    uint32_t count = 0;
    while (text.size > 0) {
        enum trace_line what;
        struct trace_record record;
        if (trace_reader_line(r, slice_cut(&text, '\n'), &what, &record, &error) != STATUS_OK)
            fail_msg("%.*s", TEXT_OF(error));
        if (what == TRACE_LINE_RECORD)
            out[count++] = record;
        else if (what != TRACE_LINE_NOTHING)
            buffer_append_sized(names, r->name);
    }
    buffer_deinit(&error);
    return count;
}

static void trace_reads_as_it_was(struct prng *p)
{
    static uint8_t key[2 * TRACE_KEY_SIZE_MAX];
    uint8_t name[2 * TRACE_NAME_SIZE_MAX];
    const bool hashed = prng_below(p, 2);
    const struct trace_salt salt = trace_salt_of(slice_of("salt"));
    const int64_t clock_us = drawn_number(p, -1, TRACE_US_MAX + 1);
    struct trace_record expected[TRACE_RECORDS], read[TRACE_RECORDS];
    struct trace_reader reader = {0};
    struct buffer text = {0}, names = {0};
    int64_t at_us = 0;
    trace_append_head(&text, hashed ? "salt" : NULL);
    trace_append_clock(&text, clock_us);
    const struct slice given =
        drawn_text(p, (enum drawn_alphabet)prng_below(p, DRAWN_ALPHABETS),
                   (size_t)drawn_number(p, 0, TRACE_NAME_SIZE_MAX + 1), name);
    trace_append_name(&text, prng_below(p, 2) ? "table" : "tenant", UINT32_MAX, given);
    for (int i = 0; i < TRACE_RECORDS; i++) {
        const int64_t step_us = drawn_number(p, 0, (TRACE_US_MAX - at_us) / (i == 0 ? 2 : 1));
        const struct slice bytes =
            drawn_text(p, (enum drawn_alphabet)prng_below(p, DRAWN_ALPHABETS),
                       (size_t)drawn_number(p, 0, TRACE_KEY_SIZE_MAX + 1), key);
        expected[i] = trace_record_of(p);
        at_us += step_us;
        trace_append_line(&text, step_us, &expected[i], bytes, hashed ? &salt : NULL);
        expected[i].at_ns = at_us * 1000;
        expected[i].key = hashed ? trace_hash(&salt, bytes) : trace_key_number(bytes);
    }
    assert_int_equal(trace_read(&reader, buffer_slice(&text), read, &names), TRACE_RECORDS);
    for (int i = 0; i < TRACE_RECORDS; i++) {
        const struct trace_record *a = &read[i], *b = &expected[i];
        assert_true(a->at_ns == b->at_ns && a->key == b->key);
        assert_true(a->table == b->table && a->tenant == b->tenant && a->kind == b->kind);
        assert_true(a->size_bytes == b->size_bytes && a->scan_length == b->scan_length);
        assert_true(a->consistent == b->consistent && a->outcome == b->outcome);
    }
    assert_int_equal(reader.has_clock, clock_us >= 0 && clock_us <= TRACE_US_MAX);
    assert_true(!reader.has_clock || reader.clock_us == clock_us);
    struct reader r = {buffer_slice(&names), false};
    const struct slice shown = reader_sized(&r);
    assert_true(shown.size == (given.size == 0                    ? 1
                               : given.size > TRACE_NAME_SIZE_MAX ? TRACE_NAME_SIZE_MAX
                                                                  : given.size));
    for (size_t i = 0; i < given.size && i < shown.size; i++)
        assert_true(shown.data[i] == given.data[i] || given.data[i] < '!' || given.data[i] > '~');
    buffer_deinit(&text);
    buffer_deinit(&names);
}

TEST(a_trace_is_read_as_it_was_written)
{
    check_seeds(SEEDS, trace_reads_as_it_was);
}

/* Each name that a table and an index can have is whole in a trace. */
TEST(the_longest_name_of_an_index_is_whole_in_a_trace)
{
    char name[TABLE_NAME_SIZE_MAX + 1 + INDEX_NAME_SIZE_MAX];
    struct trace_reader reader = {0};
    struct trace_record none[1];
    struct buffer text = {0}, names = {0};
    memset(name, 'a', sizeof name);
    name[TABLE_NAME_SIZE_MAX] = '/';
    trace_append_head(&text, NULL);
    trace_append_name(&text, "table", 0, slice_make(name, sizeof name));
    assert_int_equal(trace_read(&reader, buffer_slice(&text), none, &names), 0);
    struct reader r = {buffer_slice(&names), false};
    assert_true(slice_equal(reader_sized(&r), slice_make(name, sizeof name)));
    buffer_deinit(&text);
    buffer_deinit(&names);
}

/* ---- histories ---- */

/* An answer's value of the load's attribute, and what a history has of it: 0 is null. */
struct answer_drawn {
    struct buffer json;
    uint64_t value;
    bool foreign; /* no load has written it */
};

static void load_answer_of(struct prng *p, bool counter, bool read, struct answer_drawn *out)
{
    uint8_t text[200];
    const uint64_t number = (uint64_t)drawn_number(p, 1, 999999999999999999);
    const uint64_t how = prng_below(p, 5);
    *out = (struct answer_drawn){.value = number, .foreign = how > 1};
    json_write_open(&out->json, '{');
    if (how == 0 && read) { /* nothing was there */
        out->value = 0;
        json_write_close(&out->json, '}');
        return;
    }
    json_member_open(&out->json, read ? "Item" : "Attributes", '{');
    json_member_open(&out->json, LOAD_NUMBER_NAME, '{');
    if (how <= 1 && counter) {
        buffer_append_format(&out->json, "\"N\":\"%llu\"", (unsigned long long)number);
    } else if (how <= 1) {
        buffer_append_format(&out->json, "\"S\":\"%016llx\"", (unsigned long long)number);
    } else if (how == 2) {
        static const char *const odd[] = {"0", "-1", "0.5", "1000000000000000000000000",
                                          "18446744073709551617"};
        json_member_text(&out->json, "N", odd[prng_below(p, COUNT_OF(odd))]);
    } else if (how == 3) {
        struct slice other =
            drawn_text(p, DRAWN_TEXT, (size_t)drawn_number(p, 17, sizeof text), text);
        json_member_string(&out->json, "S", other);
    } else {
        static const char *const odd[] = {"", "0", "0000000000000000", "g", "-1", " 1"};
        json_member_text(&out->json, "S", odd[prng_below(p, COUNT_OF(odd))]);
    }
    json_write_close(&out->json, '}');
    json_write_close(&out->json, '}');
    json_write_close(&out->json, '}');
}

static void add_lines(struct history *h, FILE *f)
{
    char line[HISTORY_LINE_SIZE_MAX + HISTORY_LINE_PADDING];
    struct buffer error = {0};
    rewind(f);
    while (fgets(line, HISTORY_LINE_SIZE_MAX, f) != NULL) {
        const struct slice text = slice_make(line, strcspn(line, "\n"));
        if (history_add_line(h, text, &error) != STATUS_OK)
            fail_msg("%s: %.*s", line, TEXT_OF(error));
    }
    buffer_deinit(&error);
}

static bool history_options_take(char *directory, const char *key, struct load_options *out)
{
    char name[300], file[64];
    struct buffer text = {0};
    snprintf(name, sizeof name, "--distribution=single:%s", key);
    snprintf(file, sizeof file, "--history=%.50s", directory);
    char *words[] = {"load", "--item-bytes=1000", name, file, NULL};
    const bool taken = load_options_parse(out, 4, words, NULL, &text) == COMMAND_LINE_TAKEN;
    buffer_deinit(&text);
    return taken;
}

static void history_reads_as_it_was(struct prng *p)
{
    static struct load_options options;
    uint8_t key[LOAD_KEY_SIZE_MAX];
    struct history h;
    struct json_parser *parser = json_parser_create();
    struct load_history writer = {.file = tmpfile()};
    const bool counter = prng_below(p, 2), reads = prng_below(p, 2);
    const enum load_kind kind = reads ? LOAD_GET : counter ? LOAD_ADD : LOAD_PUT;
    struct load_request r = {.number = (uint64_t)drawn_number(p, 1, INT64_MAX),
                             .sent_ns = drawn_number(p, 0, INT64_MAX - 1),
                             .kind = kind,
                             .consistent = prng_below(p, 2)};
    const enum drawn_alphabet alphabet = (enum drawn_alphabet)prng_below(p, DRAWN_ALPHABETS);
    const struct slice name =
        drawn_text(p, alphabet, (size_t)drawn_number(p, 4, LOAD_KEY_SIZE_MAX - 1), key);
    char text[LOAD_KEY_SIZE_MAX];
    struct answer_drawn answer_drawn;
    snprintf(text, sizeof text, "%.*s", TEXT_OF(name));
    const bool taken = history_options_take("h", text, &options);
    assert_true(taken ||
                alphabet != DRAWN_LETTERS); /* what is no name of a history is refused here */
    load_answer_of(p, counter, reads, &answer_drawn);
    if (taken) {
        const struct load_verdict verdict = {.outcome = LOAD_ADMITTED};
        struct json_value answer;
        buffer_reserve(&answer_drawn.json, JSON_PADDING);
        assert_int_equal(json_parse(parser, buffer_slice(&answer_drawn.json), &answer), STATUS_OK);
        load_history_invoke(&writer, &options.workloads[0], &r);
        load_history_return(&writer, &r, r.sent_ns + 1, &verdict, &answer);
        history_init(&h);
        add_lines(&h, writer.file);
        assert_int_equal(h.count, 1);
        assert_string_equal(h.keys[0].name, text);
        const struct history_op *op = &h.entries[0].op;
        assert_true(op->id == r.number && op->invoked_ns == r.sent_ns);
        assert_int_equal(op->outcome, HISTORY_OK);
        const uint64_t value = kind == LOAD_PUT ? r.number : answer_drawn.value;
        if (kind != LOAD_PUT && answer_drawn.foreign)
            assert_true(op->value >> 63 == 1);
        else
            assert_true(op->value == value);
        history_deinit(&h);
    }
    fclose(writer.file);
    load_history_deinit(&writer);
    buffer_deinit(&answer_drawn.json);
    json_parser_destroy(parser);
}

TEST(a_history_is_read_as_it_was_written)
{
    check_seeds(SEEDS, history_reads_as_it_was);
}
