/* trace_reader.c - see trace_reader.h. */
#include "workload/trace_reader.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/instant.h"

enum {
    FIELDS_MAX = 8,
    FIELDS_MIN = 7,
    SCAN_MAX = 1000000,
};

__attribute__((format(printf, 3, 4))) static enum status
refuse(const struct trace_reader *r, struct buffer *error, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return buffer_explain(error, STATUS_MALFORMED, "line %lld: %s", (long long)r->line, text);
}

static bool take_number(struct slice text, int64_t min, int64_t max, int64_t *out)
{
    *out = slice_number(text);
    return *out >= min && *out <= max;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hash(struct slice digits, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits.size; i++) {
        int digit = hex_digit(digits.data[i]);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return digits.size >= 1 && digits.size <= 16;
}

/* "a%20b" */
static bool take_key_text(struct slice text, uint64_t *out)
{
    uint8_t key[TRACE_KEY_SIZE_MAX];
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (size == sizeof key || c < '!' || c > '~')
            return false;
        if (c == '%') {
            int high = i + 2 < text.size ? hex_digit(text.data[i + 1]) : -1;
            int low = i + 2 < text.size ? hex_digit(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (uint8_t)(high << 4 | low);
            i += 2;
        }
        key[size++] = c;
    }
    *out = trace_key_number(slice_make(key, size));
    return size > 0;
}

static bool take_key(struct slice text, uint64_t *out)
{
    struct slice rest = slice_make(text.data + 1, text.size - 1);
    return text.data[0] == 'x' ? take_hash(rest, out)
                               : text.data[0] == 'k' && take_key_text(rest, out);
}

/* ---- weir's own ---- */

static enum status take_head(struct trace_reader *r, struct slice line, struct buffer *error)
{
    if (!slice_is(line, TRACE_HEAD "plain") && !slice_is(line, TRACE_HEAD "hashed"))
        return refuse(r, error, "expected `%splain` or `%shashed`", TRACE_HEAD, TRACE_HEAD);
    r->format = TRACE_WEIR;
    r->hashed = slice_is(line, TRACE_HEAD "hashed");
    return STATUS_OK;
}

/* `digits` is what follows "salt ". */
static enum status take_salt(struct trace_reader *r, struct slice digits, struct buffer *error)
{
    uint64_t salt;
    if (r->begun || r->has_salt || !r->hashed || digits.size != 4 || !take_hash(digits, &salt))
        return refuse(r, error,
                      "a salt is four hexadecimal digits, once, before the first request, and only "
                      "where keys are hashed");
    r->has_salt = true;
    r->salt = (uint16_t)salt;
    return STATUS_OK;
}

/* `number` is what follows "clock ". */
static enum status take_clock(struct trace_reader *r, struct slice number, struct buffer *error)
{
    if (r->begun || r->has_clock || !take_number(number, 0, TRACE_US_MAX, &r->clock_us))
        return refuse(r, error,
                      "a clock is a number of microseconds since 1970, once, before the first "
                      "request");
    r->has_clock = true;
    return STATUS_OK;
}

/* `line` is what follows "table " or "tenant ". */
static enum status take_name(struct trace_reader *r, struct slice line, uint32_t *number_out,
                             struct buffer *error)
{
    int64_t number;
    struct slice digits = slice_cut(&line, ' ');
    bool ok = take_number(digits, 0, UINT32_MAX, &number) && line.size >= 1 &&
              line.size <= TRACE_NAME_SIZE_MAX;
    for (size_t i = 0; ok && i < line.size; i++)
        ok = line.data[i] >= '!' && line.data[i] <= '~';
    if (!ok)
        return refuse(r, error, "expected a number and a name of 1 to %d characters without blanks",
                      TRACE_NAME_SIZE_MAX);
    *number_out = (uint32_t)number;
    r->name = line;
    return STATUS_OK;
}

static bool take_outcome(struct slice text, enum trace_outcome *out)
{
    const char *at =
        text.size == 1 ? memchr(trace_outcome_letters, text.data[0], TRACE_OUTCOMES) : NULL;
    if (at != NULL)
        *out = (enum trace_outcome)(at - trace_outcome_letters);
    return at != NULL;
}

static enum status take_record(struct trace_reader *r, struct slice line, struct trace_record *out,
                               struct buffer *error)
{
    struct slice f[FIELDS_MAX];
    int64_t step_us, table, tenant, bytes, scan = 1;
    int count = 0;
    for (; line.data != NULL && count < FIELDS_MAX; count++)
        f[count] = slice_cut(&line, ' ');
    if (count < FIELDS_MIN || line.data != NULL)
        return refuse(r, error, "expected STEP TABLE TENANT KIND KEY BYTES OUTCOME [SCAN]");
    if (!take_number(f[0], 0, TRACE_US_MAX - r->last_us, &step_us))
        return refuse(r, error, "the step is not a number of microseconds");
    if (!take_number(f[1], 0, UINT32_MAX, &table) || !take_number(f[2], 0, UINT32_MAX, &tenant))
        return refuse(r, error, "table and tenant are numbers below 2^32");
    if (f[3].size != 1 || !trace_kind_of((char)f[3].data[0], &out->kind, &out->consistent))
        return refuse(r, error, "the kind is one of R, r, u, i, S, s, m, d");
    if (f[4].size == 0 || !take_key(f[4], &out->key))
        return refuse(r, error, "a key is k and text, or x and up to 16 hexadecimal digits");
    if (!take_number(f[5], 0, ITEM_SIZE_MAX, &bytes))
        return refuse(r, error, "an item has 0 to %d bytes", ITEM_SIZE_MAX);
    if (!take_outcome(f[6], &out->outcome))
        return refuse(r, error, "the outcome is one of a, t, f, n");
    if (count == FIELDS_MAX && !take_number(f[7], 1, SCAN_MAX, &scan))
        return refuse(r, error, "a scan has 1 to %d items", SCAN_MAX);
    r->last_us += step_us;
    out->at_ns = r->last_us * NS_PER_US;
    out->table = (uint32_t)table;
    out->tenant = (uint32_t)tenant;
    out->size_bytes = (int32_t)bytes;
    out->scan_length = (int32_t)scan;
    return STATUS_OK;
}

static enum status take_weir(struct trace_reader *r, struct slice line, enum trace_line *what,
                             struct trace_record *out, struct buffer *error)
{
    struct slice rest = line, word = slice_cut(&rest, ' ');
    if (line.size == 0 || line.data[0] == '#')
        return STATUS_OK;
    if (slice_is(word, "table")) {
        *what = TRACE_LINE_TABLE;
        return take_name(r, rest, &out->table, error);
    }
    if (slice_is(word, "tenant")) {
        *what = TRACE_LINE_TENANT;
        return take_name(r, rest, &out->tenant, error);
    }
    if (slice_is(word, "salt"))
        return take_salt(r, rest, error);
    if (slice_is(word, "clock"))
        return take_clock(r, rest, error);
    *what = TRACE_LINE_RECORD;
    r->begun = true;
    return take_record(r, line, out, error);
}

/* ---- Twitter's ---- */

static bool take_operation(struct slice text, struct trace_record *out)
{
    static const struct {
        const char *name;
        enum traffic_kind kind;
    } operations[] = {
        {"get", TRAFFIC_READ},      {"gets", TRAFFIC_READ},      {"set", TRAFFIC_UPDATE},
        {"add", TRAFFIC_INSERT},    {"replace", TRAFFIC_UPDATE}, {"cas", TRAFFIC_UPDATE},
        {"append", TRAFFIC_UPDATE}, {"prepend", TRAFFIC_UPDATE}, {"delete", TRAFFIC_DELETE},
        {"incr", TRAFFIC_UPDATE},   {"decr", TRAFFIC_UPDATE}};
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (slice_is(text, operations[i].name)) {
            out->kind = operations[i].kind;
            out->consistent = traffic_kind_writes(out->kind);
            return true;
        }
    return false;
}

/* The part behind the last comma; `rest` ends before it. False: there is no comma. */
static bool cut_last(struct slice *rest, struct slice *part)
{
    const uint8_t *at = rest->size > 0 ? memrchr(rest->data, ',', rest->size) : NULL;
    if (at == NULL)
        return false;
    size_t before = (size_t)(at - rest->data);
    *part = slice_make(at + 1, rest->size - before - 1);
    rest->size = before;
    return true;
}

/* A key may hold commas: the fields behind it are found from the end. */
static enum status take_twitter(struct trace_reader *r, struct slice line, struct trace_record *out,
                                struct buffer *error)
{
    static const char expected[] = "expected seconds,key,key size,value size,client,operation,TTL, "
                                   "or a first line `" TRACE_HEAD "plain`";
    struct slice ttl, operation, client, value_size, key_size;
    int64_t seconds, key_bytes, value_bytes, tenant, ttl_s;
    if (!cut_last(&line, &ttl) || !cut_last(&line, &operation) || !cut_last(&line, &client) ||
        !cut_last(&line, &value_size) || !cut_last(&line, &key_size))
        return refuse(r, error, "%s", expected);
    struct slice key = line, time = slice_cut(&key, ',');
    if (key.size == 0 || !take_number(time, 0, TRACE_US_MAX / 1000000, &seconds))
        return refuse(r, error, "%s", expected);
    if (!take_number(key_size, 0, INT32_MAX, &key_bytes) ||
        !take_number(value_size, 0, INT32_MAX, &value_bytes) ||
        !take_number(client, 0, INT64_MAX, &tenant) || !take_number(ttl, 0, INT64_MAX, &ttl_s))
        return refuse(r, error, "sizes, client and TTL are numbers");
    if (!take_operation(operation, out))
        return refuse(r, error, "unknown operation `%.*s`",
                      SHOWN(slice_make(operation.data, MIN(operation.size, 32))));
    if (!r->begun)
        r->first_s = seconds;
    r->begun = true;
    if (seconds < r->first_s + r->last_us / 1000000)
        return refuse(r, error, "the time is before that of the line above");
    r->last_us = (seconds - r->first_s) * 1000000;
    int64_t bytes = key_bytes + value_bytes;
    out->at_ns = r->last_us * NS_PER_US;
    out->key = trace_key_number(key);
    out->tenant = (uint32_t)tenant;
    out->size_bytes = (int32_t)MIN(bytes, ITEM_SIZE_MAX);
    return STATUS_OK;
}

enum status trace_reader_line(struct trace_reader *r, struct slice line, enum trace_line *what,
                              struct trace_record *out, struct buffer *error)
{
    r->line++;
    r->name = slice_make(NULL, 0);
    *what = TRACE_LINE_NOTHING;
    *out = (struct trace_record){.scan_length = 1};
    if (line.size > TRACE_LINE_SIZE_MAX)
        return refuse(r, error, "longer than %d bytes", TRACE_LINE_SIZE_MAX);
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    if (r->format == TRACE_UNKNOWN) {
        if (slice_starts_with(line, slice_of("weir-trace")))
            return take_head(r, line, error);
        r->format = TRACE_TWITTER;
    }
    if (r->format == TRACE_WEIR)
        return take_weir(r, line, what, out, error);
    if (line.size == 0)
        return STATUS_OK;
    *what = TRACE_LINE_RECORD;
    return take_twitter(r, line, out, error);
}
