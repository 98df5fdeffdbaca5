/* history.c - see history.h. Operations are found by their number, keys by a hash. */
#include "workload/history.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/id_map.h"
#include "base/instant.h"
#include "router/json/json.h"
#include "workload/counter_check.h"

struct history_index {
    struct json_parser *json;
    struct id_map open; /* operations without a return: number -> entry + 1 */
    struct id_map keys; /* hash -> key + 1 */
    struct id_map used; /* every operation's number */
};

struct line_value {
    struct slice text;
    bool given, is_null;
};

/* The members of a line. */
struct line {
    int64_t op, t;
    struct slice type, f, table, key;
    struct line_value value, after;
    bool has_op, has_t, eventual;
};

void history_init(struct history *h)
{
    *h = (struct history){.index = must_calloc(1, sizeof *h->index)};
    h->index->json = json_parser_create();
}

void history_deinit(struct history *h)
{
    for (uint32_t i = 0; i < h->key_count; i++) {
        free(h->keys[i].table);
        free(h->keys[i].name);
    }
    json_parser_destroy(h->index->json);
    id_map_deinit(&h->index->open);
    id_map_deinit(&h->index->keys);
    id_map_deinit(&h->index->used);
    free(h->index);
    free(h->keys);
    free(h->entries);
    *h = (struct history){0};
}

/* ---- what lines may say ---- */

bool history_value_read(struct slice text, uint64_t *out)
{
    *out = 0;
    if (text.size == 0 || text.size > 16)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        uint8_t lower = c | 0x20;
        bool digit = c >= '0' && c <= '9';
        if (!digit && (lower < 'a' || lower > 'f'))
            return false;
        *out = *out << 4 | (uint64_t)(digit ? c - '0' : lower - 'a' + 10);
    }
    return *out != 0;
}

/* ---- one line ---- */

/* Returns the fault of the member, or NULL. */
static const char *history_take_member(struct line *l, struct slice name,
                                       const struct json_value *v)
{
    struct slice *texts[] = {&l->type, &l->f, &l->table, &l->key};
    static const char *const text_names[] = {"type", "f", "table", "key"};
    if (slice_is(name, "op")) {
        l->has_op = v->type == JSON_INTEGER && json_integer(v) > 0;
        l->op = l->has_op ? json_integer(v) : 0;
        return l->has_op ? NULL : "`op` is a whole number above 0";
    }
    if (slice_is(name, "t")) {
        l->has_t = v->type == JSON_INTEGER && json_integer(v) >= 0;
        l->t = l->has_t ? json_integer(v) : 0;
        return l->has_t ? NULL : "`t` is a whole number of nanoseconds";
    }
    if (slice_is(name, "consistent")) {
        l->eventual = v->type == JSON_BOOL && !json_bool(v);
        return v->type == JSON_BOOL ? NULL : "`consistent` is true or false";
    }
    if (slice_is(name, "value") || slice_is(name, "after")) {
        struct line_value *value = slice_is(name, "value") ? &l->value : &l->after;
        *value = (struct line_value){json_text(v), true, v->type == JSON_NULL};
        return v->type == JSON_NULL || v->type == JSON_STRING
                   ? NULL
                   : "`value` and `after` are texts, or null";
    }
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!slice_is(name, text_names[i]))
            continue;
        if (v->type != JSON_STRING)
            return "`type`, `f`, `table` and `key` are texts";
        *texts[i] = json_string(v);
    }
    return NULL;
}

static const char *parse_line(struct history *h, struct slice text, struct line *out)
{
    struct json_value root, value;
    struct slice name;
    *out = (struct line){0};
    if (text.size > HISTORY_LINE_SIZE_MAX)
        return "longer than 65536 bytes";
    if (json_parse(h->index->json, text, &root) != STATUS_OK || root.type != JSON_OBJECT)
        return "not a JSON object";
    JSON_FOREACH_MEMBER (name, value, &root) {
        const char *wrong = history_take_member(out, name, &value);
        if (wrong != NULL)
            return wrong;
    }
    if (!out->has_op || !out->has_t || out->type.size == 0)
        return "`op`, `t` and `type` are needed";
    return NULL;
}

/* Up to 16 hexadecimal digits, not all 0; null is 0. */
static const char *parse_value(const struct line_value *l, uint64_t *out)
{
    *out = 0;
    if (l->is_null || (l->given && history_value_read(l->text, out)))
        return NULL;
    return "a value is null or 1 to 16 hexadecimal digits, not all 0";
}

/* ---- keys and operations ---- */

static uint64_t hash_key(struct slice table, struct slice key)
{
    uint64_t hash = XXH3_64bits_withSeed(key.data, key.size, XXH3_64bits(table.data, table.size));
    return hash == 0 ? 1 : hash;
}

static char *copy_text(struct slice s)
{
    char *text = strndup(s.size ? (const char *)s.data : "", s.size);
    must(text != NULL);
    return text;
}

/* Names are printed, and must not contain NUL. */
static bool is_name(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < ' ' || s.data[i] == 127)
            return false;
    return true;
}

static uint32_t find_key(struct history *h, struct slice table, struct slice name)
{
    uint64_t hash = hash_key(table, name);
    uint32_t first = (uint32_t)(uintptr_t)id_map_find(&h->index->keys, hash);
    for (uint32_t k = first; k != 0; k = h->keys[k - 1].next) {
        if (slice_is(name, h->keys[k - 1].name) && slice_is(table, h->keys[k - 1].table))
            return k - 1;
    }
    h->keys = must_grow(h->keys, h->key_count, &h->key_capacity, sizeof h->keys[0]);
    h->keys[h->key_count++] =
        (struct history_key){.table = copy_text(table), .name = copy_text(name), .next = first};
    if (first != 0)
        id_map_remove(&h->index->keys, hash);
    id_map_add(&h->index->keys, hash, (void *)(uintptr_t)h->key_count);
    return h->key_count - 1;
}

/* What a write has replaced, or will have if it is done. */
static const char *take_after(const struct line *l, struct history_op *op)
{
    if (!l->after.given)
        return NULL;
    op->after_known = true;
    return parse_value(&l->after, &op->after);
}

static const char *add_invocation(struct history *h, const struct line *l)
{
    const bool is_write = slice_is(l->f, "write"), is_add = slice_is(l->f, "add");
    uint64_t value = 0;
    if (!is_write && !is_add && !slice_is(l->f, "read"))
        return "`f` of an invocation is read, write or add";
    if (l->key.data == NULL)
        return "an invocation needs a `key`";
    if (!is_name(l->key) || !is_name(l->table))
        return "`key` and `table` hold no control characters";
    struct history_op op = {0};
    const char *wrong = is_write ? parse_value(&l->value, &value) : NULL;
    if (wrong == NULL && is_write)
        wrong = take_after(l, &op);
    if (wrong != NULL)
        return wrong;
    if (id_map_find(&h->index->used, (uint64_t)l->op) != NULL)
        return "this `op` was invoked before";
    if (h->count == INT32_MAX - 1)
        return "more operations than can be checked at once";
    const uint32_t at = find_key(h, l->table, l->key);
    struct history_key *k = &h->keys[at];
    if (is_write ? k->counter : is_add && k->written)
        return "a key is added to, or written: not both";
    k->counter |= is_add;
    k->written |= is_write;
    h->entries = must_grow(h->entries, h->count, &h->capacity, sizeof h->entries[0]);
    h->entries[h->count++] =
        (struct history_entry){.op = {.id = (uint64_t)l->op,
                                      .invoked_ns = l->t,
                                      .returned_ns = INT64_MAX,
                                      .kind = is_write || is_add ? HISTORY_WRITE : HISTORY_READ,
                                      .outcome = HISTORY_INFO,
                                      .value = value,
                                      .after_known = op.after_known,
                                      .after = op.after},
                               .invoked_line = h->lines,
                               .key = at,
                               .eventual = l->eventual && !is_write && !is_add};
    void *place = (void *)(uintptr_t)h->count;
    id_map_add(&h->index->used, (uint64_t)l->op, place);
    id_map_add(&h->index->open, (uint64_t)l->op, place);
    return NULL;
}

/* The value that the return of an operation tells. */
static const char *add_answer(const struct line *l, bool counter, bool ok, bool fail,
                              struct history_op *op)
{
    const bool is_read = op->kind == HISTORY_READ;
    uint64_t value = 0;
    const char *wrong = NULL;
    if ((ok && (is_read || counter)) || (fail && !is_read && !counter && l->value.given))
        wrong = parse_value(&l->value, &value);
    else if (ok)
        return take_after(l, op);
    else
        return NULL;
    if (wrong == NULL && ok && !is_read && value == 0)
        wrong = "a counter with additions is not null";
    if (wrong != NULL)
        return wrong;
    op->value = value;
    if (fail) {
        op->kind = HISTORY_READ;
        op->outcome = HISTORY_OK;
        op->after_known = false;
    }
    return NULL;
}

static const char *add_return(struct history *h, const struct line *l)
{
    size_t place = (size_t)(uintptr_t)id_map_find(&h->index->open, (uint64_t)l->op);
    if (place == 0)
        return "a return of an `op` that is not in flight";
    struct history_entry *e = &h->entries[place - 1];
    bool ok = slice_is(l->type, "ok"), fail = slice_is(l->type, "fail");
    if (!ok && !fail && !slice_is(l->type, "info"))
        return "`type` is invoke, ok, fail or info";
    if (l->t < e->op.invoked_ns)
        return "it returns before it was invoked";
    const char *wrong = add_answer(l, h->keys[e->key].counter, ok, fail, &e->op);
    if (wrong != NULL)
        return wrong;
    if (fail && e->op.outcome == HISTORY_OK)
        ok = true; /* what it met counts as a read */
    e->returned_line = h->lines;
    if (ok || fail) {
        e->op.outcome = ok ? HISTORY_OK : HISTORY_FAIL;
        e->op.returned_ns = l->t;
    }
    id_map_remove(&h->index->open, (uint64_t)l->op);
    return NULL;
}

enum status history_add_line(struct history *h, struct slice text, struct buffer *error)
{
    struct line l;
    h->lines++;
    const char *wrong = parse_line(h, text, &l);
    if (wrong == NULL)
        wrong = slice_is(l.type, "invoke") ? add_invocation(h, &l) : add_return(h, &l);
    if (wrong == NULL)
        return STATUS_OK;
    return buffer_explain(error, STATUS_MALFORMED, "line %lld: %s", (long long)h->lines, wrong);
}

/* ---- keys' operations ---- */

static int history_compare_entries(const void *a, const void *b)
{
    const struct history_entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->op.invoked_ns != y->op.invoked_ns)
        return x->op.invoked_ns < y->op.invoked_ns ? -1 : 1;
    return x->op.id < y->op.id ? -1 : x->op.id > y->op.id;
}

static int compare_values(const void *a, const void *b)
{
    const struct history_entry *x = *(const struct history_entry *const *)a;
    const struct history_entry *y = *(const struct history_entry *const *)b;
    return x->op.value < y->op.value ? -1 : x->op.value > y->op.value;
}

/* A key's writes of values that did not fail, ascending by value. The caller frees. */
static size_t writes_by_value(const struct history *h, uint32_t key,
                              const struct history_entry ***out)
{
    const struct history_key *k = &h->keys[key];
    const struct history_entry **writes = must_calloc(k->count + 1, sizeof writes[0]);
    size_t count = 0;
    for (size_t i = k->first; i < k->first + k->count && !k->counter; i++) {
        const struct history_op *op = &h->entries[i].op;
        if (op->kind == HISTORY_WRITE && op->value != 0 && op->outcome != HISTORY_FAIL)
            writes[count++] = &h->entries[i];
    }
    qsort(writes, count, sizeof(struct history_entry *), compare_values);
    *out = writes;
    return count;
}

enum status history_group(struct history *h, struct buffer *error)
{
    enum status status = STATUS_OK;
    if (h->count > 0)
        qsort(h->entries, h->count, sizeof h->entries[0], history_compare_entries);
    for (size_t i = 0; i < h->count; i++) {
        struct history_key *k = &h->keys[h->entries[i].key];
        if (k->count++ == 0)
            k->first = i;
    }
    for (uint32_t key = 0; key < h->key_count && status == STATUS_OK; key++) {
        const struct history_entry **writes;
        size_t count = writes_by_value(h, key, &writes);
        for (size_t i = 1; i < count && status == STATUS_OK; i++) {
            if (writes[i - 1]->op.value != writes[i]->op.value)
                continue;
            status = buffer_explain(error, STATUS_MALFORMED,
                                    "lines %lld and %lld write the same value to key %s: every "
                                    "write must write another one",
                                    (long long)writes[i - 1]->invoked_line,
                                    (long long)writes[i]->invoked_line, h->keys[key].name);
        }
        free(writes);
    }
    return status;
}

void history_check_key(const struct history *h, uint32_t key, struct history_op *ops,
                       struct history_verdict *out)
{
    const struct history_key *k = &h->keys[key];
    size_t count = 0;
    for (size_t i = k->first; i < k->first + k->count; i++) {
        if (!h->entries[i].eventual)
            ops[count++] = h->entries[i].op;
    }
    if (k->counter)
        history_check_counter(ops, count, out);
    else
        history_check(ops, count, out);
}

/* Whether so many increments had begun when the read returned. */
static bool counter_was_begun(const struct history *h, const struct history_key *k,
                              const struct history_entry *read)
{
    uint64_t begun = 0;
    for (size_t i = k->first; i < k->first + k->count; i++) {
        const struct history_op *op = &h->entries[i].op;
        begun += op->kind == HISTORY_WRITE && op->outcome != HISTORY_FAIL &&
                 op->invoked_ns <= read->op.returned_ns;
    }
    return read->op.value <= begun;
}

static bool was_begun(const struct history_entry *const *writes, size_t count,
                      const struct history_entry *read)
{
    const struct history_entry *const *write =
        bsearch(&read, writes, count, sizeof writes[0], compare_values);
    return write != NULL && (*write)->op.invoked_ns <= read->op.returned_ns;
}

const struct history_entry *history_false_read(const struct history *h, uint32_t key)
{
    const struct history_key *k = &h->keys[key];
    const struct history_entry **writes, *found = NULL;
    size_t count = writes_by_value(h, key, &writes);
    for (size_t i = k->first; i < k->first + k->count && found == NULL; i++) {
        const struct history_entry *e = &h->entries[i];
        bool read = e->eventual && e->op.outcome == HISTORY_OK && e->op.value != 0;
        if (read && !(k->counter ? counter_was_begun(h, k, e) : was_begun(writes, count, e)))
            found = e;
    }
    free(writes);
    return found;
}

void history_describe(const struct history_entry *e, struct buffer *out)
{
    static const char *const outcomes[] = {"ok", "failed", "unknown"};
    const struct history_op *op = &e->op;
    bool is_read = op->kind == HISTORY_READ;
    buffer_append_format(out, "op %llu %s ", (unsigned long long)op->id,
                         is_read && e->eventual ? "eventual read"
                         : is_read              ? "read"
                         : op->value == 0       ? "delete"
                                                : "write");
    if (op->value != 0)
        buffer_append_format(out, "%llx ", (unsigned long long)op->value);
    if (op->after_known && op->after != 0)
        buffer_append_format(out, "after %llx ", (unsigned long long)op->after);
    else if (op->after_known)
        buffer_append_text(out, "after nothing ");
    if (op->value == 0 && is_read && op->outcome == HISTORY_OK)
        buffer_append_text(out, "nothing ");
    buffer_append_format(out, "from %.6f s ", (double)op->invoked_ns / (double)NS_PER_S);
    if (op->returned_ns != INT64_MAX)
        buffer_append_format(out, "to %.6f s ", (double)op->returned_ns / (double)NS_PER_S);
    buffer_append_format(out, "(%s), line %lld", outcomes[op->outcome], (long long)e->invoked_line);
}
