/* explain_text.c - an explanation as text of at most 80 columns, and as JSON. */
#include <stdio.h>
#include <time.h>

#include "router/admin/explanation.h"
#include "router/json/json_writer.h"

enum {
    COLUMNS = 80,
    BAR = 10,
};

/* ---- texts ---- */

static void append_time(struct buffer *out, int64_t wall_ms)
{
    struct tm t = {0};
    const time_t s = (time_t)(wall_ms / 1000);
    char text[32] = "?";
    if (gmtime_r(&s, &t) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    buffer_append_format(out, "%s.%03dZ", text, (int)(wall_ms % 1000));
}

/* "1,204", "0.5", "-12.25": at most two digits after the point. */
static void append_units(struct buffer *out, int64_t mcu)
{
    const uint64_t cents = (uint64_t)(mcu < 0 ? -mcu : mcu) / 10;
    char digits[24], grouped[40];
    const int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)cents / 100);
    int k = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            grouped[k++] = ',';
        grouped[k++] = digits[i];
    }
    grouped[k] = '\0';
    buffer_append_format(out, "%s%s", mcu < 0 && cents > 0 ? "-" : "", grouped);
    if (cents % 100 != 0)
        buffer_append_format(
            out, cents % 10 == 0 ? ".%llu" : ".%02llu",
            (unsigned long long)(cents % 10 == 0 ? cents % 100 / 10 : cents % 100));
}

static size_t column_of(const struct buffer *out, size_t line)
{
    return out->size - line;
}

/* Blanks up to a column of the line that begins at `line`; at least one. */
static void append_blanks(struct buffer *out, size_t line, size_t column)
{
    do {
        buffer_append_u8(out, ' ');
    } while (column_of(out, line) < column);
}

/* Words behind `out`, in lines of COLUMNS, all but the first indented. */
static void append_wrapped(struct buffer *out, size_t line, struct slice text, size_t indent)
{
    for (size_t at = 0, end; at < text.size; at = end + 1) {
        for (end = at; end < text.size && text.data[end] != ' '; end++)
            ;
        const size_t column = column_of(out, line);
        if (column + (end - at) + (column > indent) > COLUMNS && column > indent) {
            buffer_append_u8(out, '\n');
            line = out->size;
            append_blanks(out, line, indent);
        } else if (column > indent) {
            buffer_append_u8(out, ' ');
        }
        buffer_append_slice(out, slice_make(text.data + at, end - at));
    }
    buffer_append_u8(out, '\n');
}

static const char *outcome_shown(const struct decision_record *d)
{
    static const char *const SHOWN_AS[RECORD_OUTCOMES] = {[RECORD_DONE] = "DONE",
                                                          [RECORD_REFUSED] = "REFUSED",
                                                          [RECORD_OVERLOADED] = "OVERLOADED",
                                                          [RECORD_CANCELLED] = "CANCELLED",
                                                          [RECORD_FAILED] = "FAILED"};
    return SHOWN_AS[d->outcome];
}

static void append_where(struct buffer *out, const struct decision_record *d)
{
    const struct slice table = record_text(d, RECORD_TABLE);
    if (table.size == 0)
        return;
    if (d->partition != 0)
        buffer_append_format(out, ", partition %u of %.*s", d->partition, TEXT_OF(table));
    else
        buffer_append_format(out, ", limit of %.*s", TEXT_OF(table));
}

static void append_head(struct buffer *out, const struct decision_record *d)
{
    const size_t line = out->size;
    buffer_append_format(out, "%-10s ", outcome_shown(d));
    buffer_append_text(out, record_reason_name(d));
    append_where(out, d);
    if (column_of(out, line) + 26 <= COLUMNS)
        append_blanks(out, line, COLUMNS - 24);
    else
        buffer_append_text(out, "\n  ");
    append_time(out, d->wall_ms);
    buffer_append_u8(out, '\n');
}

static void append_request(struct buffer *out, const struct decision_record *d)
{
    struct buffer text = {0};
    buffer_append_text(&text, d->operation);
    if (record_text(d, RECORD_TABLE).size > 0)
        buffer_append_format(&text, " on %.*s", TEXT_OF(record_text(d, RECORD_TABLE)));
    if (record_text(d, RECORD_KEY).size > 0)
        buffer_append_format(&text, ", %skey %.*s", d->range ? "from " : "",
                             TEXT_OF(record_text(d, RECORD_KEY)));
    if (d->attempt > 0)
        buffer_append_format(&text, ", attempt %u of the client", d->attempt);
    if (d->parts > 1)
        buffer_append_format(&text, "; %u of its %u requests to nodes were refused", d->refused,
                             d->parts);
    const size_t line = out->size;
    buffer_append_text(out, "  ");
    append_wrapped(out, line, buffer_slice(&text), 2);
    buffer_deinit(&text);
}

static void append_cost(struct buffer *out, const struct decision_record *d, uint32_t router)
{
    buffer_append_text(out, "  ");
    if (d->table_id != 0) {
        buffer_append_text(out, "cost ");
        append_units(out, d->cost_mcu);
        buffer_append_text(out, d->kind == ADMIT_READ ? " RCU" : " WCU");
        if (d->kind == ADMIT_READ && !d->short_form)
            buffer_append_text(out, d->consistent ? ", consistent" : ", eventual");
        if (d->item_bytes >= 0)
            buffer_append_format(out, ", %s %lld bytes", d->range ? "items of" : "item of",
                                 (long long)d->item_bytes);
        buffer_append_text(out, "; ");
    }
    buffer_append_format(out, "HTTP %u; router %u", d->status, router);
    if (d->node != 0)
        buffer_append_format(out, ", node %u", d->node);
    if (d->repeated > 0)
        buffer_append_format(out, ", sent again %u times", d->repeated);
    buffer_append_u8(out, '\n');
    if (record_text(d, RECORD_AGENT).size > 0) {
        const struct slice agent = record_text(d, RECORD_AGENT);
        buffer_append_format(out, "  client %.*s\n", (int)MIN(agent.size, 70), agent.data);
    }
}

static void append_amount(struct buffer *out, int64_t mcu)
{
    if (mcu == LIMIT_UNKNOWN)
        buffer_append_u8(out, '-');
    else
        append_units(out, mcu);
}

/* A part of the capacity, as a bar of BAR characters in brackets. */
static void append_bar(struct buffer *out, int64_t level, int64_t capacity)
{
    char bar[BAR + 1];
    int64_t filled = 0;
    if (level > 0 && capacity > 0)
        filled = MIN((int64_t)((__int128)level * BAR / capacity), BAR);
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(BAR - filled));
    bar[BAR] = '\0';
    buffer_append_format(out, " [%s]", bar);
}

static void append_limit(struct buffer *out, const struct explained_limit *l)
{
    enum {
        LEVEL = 22,
        CAPACITY = 46,
        RATE = 57,
        VERDICT = 67,
    };
    const size_t line = out->size;
    buffer_append_format(out, "  %s", l->name);
    append_blanks(out, line, LEVEL);
    append_amount(out, l->level);
    if (l->level != LIMIT_UNKNOWN && l->capacity > 0) {
        append_blanks(out, line, LEVEL + 9);
        append_bar(out, l->level, l->capacity);
    }
    append_blanks(out, line, CAPACITY);
    append_amount(out, l->capacity);
    append_blanks(out, line, RATE);
    append_amount(out, l->rate);
    if (l->rate != LIMIT_UNKNOWN)
        buffer_append_text(out, "/s");
    append_blanks(out, line, VERDICT);
    buffer_append_text(out, limit_verdict_name(l->verdict));
    buffer_append_u8(out, '\n');
}

static void append_moments(struct buffer *out, const struct decision_record *d)
{
    static const char *const NAMES[RECORD_MOMENTS] = {[RECORD_STARTED] = "started",
                                                      [RECORD_TOKENS] = "tokens",
                                                      [RECORD_SENT] = "sent",
                                                      [RECORD_REPLIED] = "decided",
                                                      [RECORD_ANSWERED] = "answered"};
    buffer_append_text(out, "  ms:");
    for (int i = 0; i < RECORD_MOMENTS; i++) {
        if (d->moments_us[i] != RECORD_NEVER)
            buffer_append_format(out, " %.2f %s", d->moments_us[i] / 1000.0, NAMES[i]);
    }
    if (d->waited_us > 0)
        buffer_append_format(out, "; before, %.2f for the router", d->waited_us / 1000.0);
    buffer_append_u8(out, '\n');
}

/* "attempt 1 was refused (key-range) 88 ms before: ID" */
static void append_attempt(struct buffer *out, const struct decision_record *d,
                           const struct decision_record *other)
{
    const int64_t ms = other->wall_ms - d->wall_ms;
    buffer_append_format(out, "  attempt %u: %s, %s, %lld ms %s\n    %.*s\n", other->attempt,
                         record_outcome_name(other->outcome), record_reason_name(other),
                         (long long)(ms < 0 ? -ms : ms), ms < 0 ? "before" : "after",
                         RECORD_ID_SIZE, other->id);
}

void explanation_append_text(struct buffer *out, const struct explanation *e, uint32_t router)
{
    const struct decision_record *d = e->record;
    append_head(out, d);
    if (!d->short_form)
        append_request(out, d);
    append_cost(out, d, router);
    if (e->limit_count > 0)
        buffer_append_text(out, "\n  limit               level                   capacity   rate"
                                "      verdict\n");
    for (uint32_t i = 0; i < e->limit_count; i++)
        append_limit(out, &e->limits[i]);
    buffer_append_u8(out, '\n');
    if (e->would_pass_ms != 0) {
        buffer_append_text(out, "  It would pass at ");
        append_time(out, e->would_pass_ms);
        buffer_append_text(out, " if no other request came.\n");
    }
    for (uint32_t i = 0; i < e->attempt_count; i++)
        append_attempt(out, e->record, &e->attempts[i]);
    for (uint32_t i = 0; i < e->help_count; i++) {
        const size_t line = out->size;
        buffer_append_format(out, "  %-5s", help_kind_name(e->helps[i].kind));
        append_wrapped(out, line, slice_of(e->helps[i].text), 7);
    }
    if (d->short_form)
        buffer_append_text(out, "  A short record: its second had more than 64 refusals of this "
                                "kind.\n");
    else
        append_moments(out, d);
}

void record_append_line(struct buffer *out, const struct decision_record *d)
{
    buffer_append_format(out, "%.*s  ", RECORD_ID_SIZE, d->id);
    append_time(out, d->wall_ms);
    buffer_append_format(out, "\n  %s, %s", record_outcome_name(d->outcome), record_reason_name(d));
    append_where(out, d);
    if (record_text(d, RECORD_KEY).size > 0)
        buffer_append_format(out, ", key %.*s", TEXT_OF(record_text(d, RECORD_KEY)));
    buffer_append_u8(out, '\n');
}

/* ---- JSON ---- */

static void member_units(struct buffer *out, const char *name, int64_t mcu)
{
    if (mcu != LIMIT_UNKNOWN)
        json_member_thousandths(out, name, mcu);
}

static void write_limit(struct buffer *out, const struct explained_limit *l,
                        const struct decision_record *d)
{
    json_write_open(out, '{');
    json_member_text(out, "name", l->name);
    member_units(out, "level_units", l->level);
    member_units(out, "capacity_units", l->capacity);
    member_units(out, "rate_units", l->rate);
    json_member_text(out, "verdict", limit_verdict_name(l->verdict));
    json_member_bool(out, "reached", l->verdict != LIMIT_NOT_REACHED);
    if (l->verdict == LIMIT_REFUSED && d->verdict.wait.ns > 0 &&
        d->verdict.wait.ns <= INT64_MAX / 4)
        json_member_integer(out, "wait_us", (d->verdict.wait.ns + 999) / 1000);
    json_write_close(out, '}');
}

static void write_moments(struct buffer *out, const struct decision_record *d)
{
    static const char *const NAMES[RECORD_MOMENTS] = {[RECORD_STARTED] = "started",
                                                      [RECORD_TOKENS] = "tokens",
                                                      [RECORD_SENT] = "sent",
                                                      [RECORD_REPLIED] = "decided",
                                                      [RECORD_ANSWERED] = "answered"};
    json_member_open(out, "timeline_us", '{');
    for (int i = 0; i < RECORD_MOMENTS; i++) {
        if (d->moments_us[i] != RECORD_NEVER)
            json_member_integer(out, NAMES[i], d->moments_us[i]);
    }
    json_write_close(out, '}');
}

static void member_record_text(struct buffer *out, const char *name,
                               const struct decision_record *d, enum record_text which)
{
    if (record_text(d, which).size > 0)
        json_member_string(out, name, record_text(d, which));
}

static void write_request(struct buffer *out, const struct decision_record *d)
{
    json_member_text(out, "operation", d->operation);
    json_member_integer(out, "status", d->status);
    member_record_text(out, "table", d, RECORD_TABLE);
    member_record_text(out, "key", d, RECORD_KEY);
    member_record_text(out, "error", d, RECORD_ERROR);
    member_record_text(out, "user_agent", d, RECORD_AGENT);
    if (d->partition != 0)
        json_member_integer(out, "partition", d->partition);
    if (d->node != 0)
        json_member_integer(out, "node", d->node);
    if (d->table_id == 0)
        return;
    json_member_text(out, "kind", d->kind == ADMIT_READ ? "read" : "write");
    json_member_thousandths(out, "cost_units", d->cost_mcu);
    if (d->item_bytes >= 0)
        json_member_integer(out, "item_bytes", d->item_bytes);
    if (d->attempt != 0)
        json_member_integer(out, "attempt", d->attempt);
    if (!d->short_form) {
        json_member_integer(out, "parts", d->parts);
        json_member_integer(out, "parts_refused", d->refused);
    }
}

static void write_attempt(struct buffer *out, const struct decision_record *other)
{
    json_write_open(out, '{');
    json_member_string(out, "id", slice_make(other->id, sizeof other->id));
    json_member_integer(out, "attempt", other->attempt);
    json_member_text(out, "outcome", record_outcome_name(other->outcome));
    json_member_text(out, "reason", record_reason_name(other));
    json_member_integer(out, "at_ms", other->wall_ms);
    json_write_close(out, '}');
}

void explanation_append_json(struct buffer *out, const struct explanation *e, uint32_t router)
{
    const struct decision_record *d = e->record;
    struct buffer at = {0};
    json_write_open(out, '{');
    json_member_integer(out, "version", 1);
    json_member_string(out, "id", slice_make(d->id, sizeof d->id));
    json_member_text(out, "form", d->short_form ? "short" : "full");
    append_time(&at, d->wall_ms);
    json_member_string(out, "at", buffer_slice(&at));
    json_member_integer(out, "at_ms", d->wall_ms);
    json_member_integer(out, "router", router);
    json_member_text(out, "outcome", record_outcome_name(d->outcome));
    json_member_text(out, "reason", record_reason_name(d));
    write_request(out, d);
    json_member_open(out, "decision", '{');
    json_member_open(out, "limits", '[');
    for (uint32_t i = 0; i < e->limit_count; i++)
        write_limit(out, &e->limits[i], d);
    json_write_closes(out, "]}");
    if (e->would_pass_ms != 0)
        json_member_integer(out, "would_pass_at_ms", e->would_pass_ms);
    json_member_open(out, "helps", '[');
    for (uint32_t i = 0; i < e->help_count; i++) {
        json_write_open(out, '{');
        json_member_text(out, "kind", help_kind_name(e->helps[i].kind));
        json_member_text(out, "text", e->helps[i].text);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
    json_member_open(out, "attempts", '[');
    for (uint32_t i = 0; i < e->attempt_count; i++)
        write_attempt(out, &e->attempts[i]);
    json_write_close(out, ']');
    write_moments(out, d);
    json_write_close(out, '}');
    buffer_deinit(&at);
}
