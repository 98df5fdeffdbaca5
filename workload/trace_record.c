/* trace_record.c - see trace_record.h. */
#include "workload/trace_record.h"

const char trace_outcome_letters[TRACE_OUTCOMES + 1] = "atfn";

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = prng_rotate(v[1], 13) ^ v[0];
    v[0] = prng_rotate(v[0], 32);
    v[2] += v[3];
    v[3] = prng_rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = prng_rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = prng_rotate(v[1], 17) ^ v[2];
    v[2] = prng_rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

uint64_t trace_hash(const struct trace_salt *salt, struct slice key)
{
    uint64_t v[4] = {
        salt->key[0] ^ UINT64_C(0x736f6d6570736575), salt->key[1] ^ UINT64_C(0x646f72616e646f6d),
        salt->key[0] ^ UINT64_C(0x6c7967656e657261), salt->key[1] ^ UINT64_C(0x7465646279746573)};
    uint64_t word, last = (uint64_t)key.size << 56;
    size_t at = 0;
    for (; at + 8 <= key.size; at += 8) {
        memcpy(&word, key.data + at, 8);
        sip_word(v, word);
    }
    for (size_t i = at; i < key.size; i++)
        last |= (uint64_t)key.data[i] << (8 * (i - at));
    sip_word(v, last);
    v[2] ^= 0xFF;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct trace_salt trace_salt_of(struct slice text)
{
    const struct trace_salt first = {{0, 0}}, second = {{1, 1}};
    return (struct trace_salt){{trace_hash(&first, text), trace_hash(&second, text)}};
}

/* The digits of `salt XXXX` as a number. */
static uint16_t trace_salt_check(struct slice text)
{
    const struct trace_salt third = {{2, 2}};
    return (uint16_t)trace_hash(&third, text);
}

uint64_t trace_key_number(struct slice key)
{
    static const struct trace_salt none;
    enum {
        PREFIX = 4,
        DIGITS = 10
    };
    if (key.size == PREFIX + DIGITS && slice_starts_with(key, slice_of("key-"))) {
        int64_t number = slice_number(slice_make(key.data + PREFIX, DIGITS));
        if (number >= 0)
            return (uint64_t)number;
    }
    return trace_hash(&none, key);
}

static const struct {
    char letter;
    bool consistent;
    enum traffic_kind kind;
} trace_letters[] = {{'R', true, TRAFFIC_READ},   {'r', false, TRAFFIC_READ},
                     {'u', true, TRAFFIC_UPDATE}, {'i', true, TRAFFIC_INSERT},
                     {'S', true, TRAFFIC_SCAN},   {'s', false, TRAFFIC_SCAN},
                     {'d', true, TRAFFIC_DELETE}, {'m', true, TRAFFIC_READ_MODIFY_WRITE}};

/* The letters of the recording. */
static char trace_kind_letter(enum traffic_kind kind, bool consistent)
{
    for (size_t i = 0; i < COUNT_OF(trace_letters); i++)
        if (trace_letters[i].kind == kind &&
            (trace_letters[i].consistent == consistent || traffic_kind_writes(kind)))
            return trace_letters[i].letter;
    return '?';
}

bool trace_kind_of(char letter, enum traffic_kind *kind, bool *consistent)
{
    for (size_t i = 0; i < COUNT_OF(trace_letters); i++)
        if (trace_letters[i].letter == letter) {
            *kind = trace_letters[i].kind;
            *consistent = trace_letters[i].consistent;
            return true;
        }
    return false;
}

/* ---- lines ---- */

void trace_append_head(struct buffer *out, const char *salt)
{
    buffer_append_format(out, "%s%s\n", TRACE_HEAD, salt != NULL ? "hashed" : "plain");
    if (salt != NULL)
        buffer_append_format(out, "salt %04x\n", trace_salt_check(slice_of(salt)));
}

void trace_append_clock(struct buffer *out, int64_t wall_us)
{
    if (wall_us >= 0 && wall_us <= TRACE_US_MAX)
        buffer_append_format(out, "clock %lld\n", (long long)wall_us);
}

void trace_append_name(struct buffer *out, const char *what, uint32_t number, struct slice name)
{
    buffer_append_format(out, "%s %u %s", what, number, name.size == 0 ? "_" : "");
    for (size_t i = 0; i < name.size && i < TRACE_NAME_SIZE_MAX; i++) {
        uint8_t c = name.data[i];
        buffer_append_u8(out, c < '!' || c > '~' ? '_' : c);
    }
    buffer_append_u8(out, '\n');
}

static void line_begin(struct buffer *out, int64_t step_us, const struct trace_record *r)
{
    buffer_append_format(out, "%lld %u %u %c ", (long long)step_us, r->table, r->tenant,
                         trace_kind_letter(r->kind, r->consistent));
}

static void line_end(struct buffer *out, const struct trace_record *r)
{
    buffer_append_format(out, " %d %c", r->size_bytes, trace_outcome_letters[r->outcome]);
    if (r->kind == TRAFFIC_SCAN)
        buffer_append_format(out, " %d", r->scan_length);
    buffer_append_u8(out, '\n');
}

static void append_plain_key(struct buffer *out, struct slice key)
{
    if (key.size == 0 || key.size > TRACE_KEY_SIZE_MAX) {
        buffer_append_format(out, "x%llx", (unsigned long long)trace_key_number(key));
        return;
    }
    buffer_append_u8(out, 'k');
    for (size_t i = 0; i < key.size; i++) {
        uint8_t c = key.data[i];
        if (c < '!' || c > '~' || c == '%')
            buffer_append_format(out, "%%%02x", c);
        else
            buffer_append_u8(out, c);
    }
}

void trace_append_line(struct buffer *out, int64_t step_us, const struct trace_record *r,
                       struct slice key, const struct trace_salt *salt)
{
    struct trace_record hashed = *r;
    if (salt != NULL) {
        hashed.key = trace_hash(salt, key);
        trace_append_hashed(out, step_us, &hashed);
        return;
    }
    line_begin(out, step_us, r);
    append_plain_key(out, key);
    line_end(out, r);
}

void trace_append_hashed(struct buffer *out, int64_t step_us, const struct trace_record *r)
{
    line_begin(out, step_us, r);
    buffer_append_format(out, "x%llx", (unsigned long long)r->key);
    line_end(out, r);
}
