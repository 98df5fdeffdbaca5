/* fields.c - conversions of fields, the texts of what is allowed, and the nearest name. */
#include "base/fields.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/instant.h"
#include "base/limits.h"

/* ---- numbers ---- */

/* The numbers that have a suffix. */
enum {
    NUMBERS = 1,
    COUNTS = 2,
    SIZES = 4
};

static const struct {
    const char *text;
    int64_t factor;
    int of;
} suffixes[] = {
    {"", 1, NUMBERS | COUNTS | SIZES},
    {"k", INT64_C(1000), NUMBERS | COUNTS},
    {"M", INT64_C(1000000), NUMBERS | COUNTS},
    {"G", INT64_C(1000000000), NUMBERS | COUNTS},
    {"T", INT64_C(1000000000000), COUNTS},
    {"kB", INT64_C(1000), SIZES},
    {"MB", INT64_C(1000000), SIZES},
    {"GB", INT64_C(1000000000), SIZES},
    {"TB", INT64_C(1000000000000), SIZES},
    {"KiB", KIB, COUNTS | SIZES},
    {"MiB", MIB, COUNTS | SIZES},
    {"GiB", GIB, COUNTS | SIZES},
    {"TiB", TIB, COUNTS | SIZES},
};

/* 0: these numbers have no such suffix. */
static int64_t suffix_factor(const char *text, int of)
{
    for (size_t i = 0; i < COUNT_OF(suffixes); i++)
        if ((suffixes[i].of & of) != 0 && strcmp(text, suffixes[i].text) == 0)
            return suffixes[i].factor;
    return 0;
}

/* Whether the text begins as a decimal number: -, digits, a point. The C library also takes blanks,
 * +, 0x10 and inf. */
static bool begins_decimal(const char *text)
{
    const char *digits = text + (*text == '-');
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        return false;
    return isdigit((unsigned char)digits[digits[0] == '.']);
}

static bool parse_whole(const char *text, int of, int64_t *out)
{
    char *end;
    if (!begins_decimal(text))
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    const int64_t factor = suffix_factor(end, of);
    return errno == 0 && end != text && factor > 0 && !__builtin_mul_overflow(*out, factor, out);
}

bool field_parse_real(const char *text, double *out)
{
    char *end;
    if (!begins_decimal(text))
        return false;
    const double value = strtod(text, &end);
    const int64_t factor = suffix_factor(end, NUMBERS);
    *out = value * (double)factor;
    return end != text && factor > 0 && isfinite(*out);
}

bool field_parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    double real;
    if (strpbrk(text, "eE") != NULL || (*text == '-' && min >= 0)) /* 1e3, -0 */
        return false;
    if (!parse_whole(text, NUMBERS, out)) { /* 2.5k */
        if (!field_parse_real(text, &real) || fabs(real) > 1e15 || real != floor(real))
            return false;
        *out = (int64_t)real;
    }
    return *out >= min && *out <= max;
}

const char *field_unit(const struct field *f)
{
    static const struct {
        const char *end, *unit;
    } units[] = {
        {"_bytes_s", "bytes/s"}, {"_bytes", "bytes"}, {"_ms", "ms"},   {"_s", "s"},
        {"_percent", "%"},       {"_ppm", "ppm"},     {"_wcu", "WCU"}, {"_rcu", "RCU"},
    };
    const size_t size = strlen(f->name);
    for (size_t i = 0; i < COUNT_OF(units) && f->kind == FIELD_COUNT; i++) {
        const size_t tail = strlen(units[i].end);
        if (size >= tail && strcmp(f->name + size - tail, units[i].end) == 0)
            return units[i].unit;
    }
    return "";
}

static bool field_is_size(const struct field *f)
{
    return strncmp(field_unit(f), "bytes", strlen("bytes")) == 0;
}

/* ---- times ---- */

/* `bare_ns`: the unit of a number without a unit. 0: only 0 needs none. */
static bool parse_time(const char *text, double bare_ns, int64_t *out_ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
                 {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    char *end;
    if (!begins_decimal(text) || *text == '-')
        return false;
    const double number = strtod(text, &end);
    double unit_ns = *end == '\0' ? bare_ns : -1;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(end, units[i].unit) == 0)
            unit_ns = units[i].ns;
    const double ns = number * unit_ns;
    if (end == text || unit_ns < 0 || !(number >= 0) || !(ns <= 9e18) || (ns == 0 && number != 0))
        return false;
    *out_ns = (int64_t)(ns + 0.5);
    return true;
}

bool field_parse_duration(const char *text, int64_t *out_ns)
{
    return parse_time(text, 0, out_ns);
}

static void append_time(struct buffer *out, int64_t ns)
{
    if (ns % (3600 * NS_PER_S) == 0 && ns > 0)
        buffer_append_format(out, "%lldh", (long long)(ns / (3600 * NS_PER_S)));
    else if (ns % NS_PER_S == 0)
        buffer_append_format(out, "%llds", (long long)(ns / NS_PER_S));
    else if (ns % NS_PER_MS == 0)
        buffer_append_format(out, "%lldms", (long long)(ns / NS_PER_MS));
    else
        buffer_append_format(out, "%lldns", (long long)ns);
}

/* ---- members ---- */

static void store_integer(const struct field *f, void *member, int64_t value)
{
    uint16_t small = (uint16_t)value;
    int32_t medium = (int32_t)value;
    if (f->size == sizeof small)
        memcpy(member, &small, sizeof small);
    else if (f->size == sizeof medium)
        memcpy(member, &medium, sizeof medium);
    else
        memcpy(member, &value, sizeof value);
}

static int64_t load_integer(const struct field *f, const void *member)
{
    uint16_t small;
    int32_t medium;
    int64_t value;
    if (f->size == sizeof small) {
        memcpy(&small, member, sizeof small);
        return small;
    }
    if (f->size == sizeof medium) {
        memcpy(&medium, member, sizeof medium);
        return medium;
    }
    must(f->size == sizeof value);
    memcpy(&value, member, sizeof value);
    return value;
}

static bool is_name(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~' || strchr("\"\\", text.data[i]) != NULL)
            return false;
    return text.size > 0;
}

static bool convert_integer(const struct field *f, const char *text, int64_t *out)
{
    int64_t max = f->max;
    bool good = false;
    switch (f->kind) {
    case FIELD_INTEGER:
        good = field_parse_integer(text, f->min, f->max, out);
        break;
    case FIELD_COUNT:
        good = isdigit((unsigned char)*text) &&
               parse_whole(text, field_is_size(f) ? SIZES : COUNTS, out);
        break;
    case FIELD_SPAN:
    case FIELD_DURATION:
        max = max > 0 ? max : 10000000 * NS_PER_S;
        good = parse_time(text, f->kind == FIELD_SPAN ? (double)NS_PER_S : 0, out);
        break;
    case FIELD_CHOICE:
        for (*out = 0; f->choices[*out] != NULL && !good; *out += !good)
            good = strcmp(f->choices[*out], text) == 0;
        return good;
    default:
        break;
    }
    return good && *out >= f->min && *out <= max;
}

static bool field_convert(const struct field *f, void *member, const char *text)
{
    const struct slice all = slice_of(text);
    int64_t integer;
    double real;
    switch (f->kind) {
    case FIELD_FLAG:
        if (!slice_is(all, "true") && !slice_is(all, "false"))
            return false;
        *(bool *)member = slice_is(all, "true");
        return true;
    case FIELD_REAL:
        if (!field_parse_real(text, &real) || real < (double)f->min || real > (double)f->max)
            return false;
        *(double *)member = real;
        return true;
    case FIELD_TEXT:
    case FIELD_ANY_TEXT:
        if ((all.size == 0 && f->kind == FIELD_TEXT) || (f->valid != NULL && !f->valid(all)))
            return false;
        *(const char **)member = text;
        return true;
    case FIELD_NAME:
        if (all.size < (size_t)f->min || all.size >= f->size ||
            !(f->valid != NULL ? f->valid : is_name)(all))
            return false;
        memset(member, 0, f->size);
        memcpy(member, text, all.size);
        return true;
    default:
        if (!convert_integer(f, text, &integer))
            return false;
        store_integer(f, member, integer == 0 && f->zero != 0 ? f->zero : integer);
        return true;
    }
}

bool field_set(const struct field *f, void *target, const char *text, struct buffer *expected)
{
    void *member = (char *)target + f->at;
    if (f->kind != FIELD_PARSED) {
        if (field_convert(f, member, text))
            return true;
        field_append_expected(f, expected);
        return false;
    }
    const char *allowed = f->parse(member, text);
    if (allowed != NULL)
        buffer_append_text(expected, allowed);
    return allowed == NULL;
}

/* ---- texts ---- */

/* 16MiB rather than 16777216. */
static void append_number(const struct field *f, int64_t value, struct buffer *out)
{
    const char *suffix = "";
    int64_t factor = 1;
    if (f->kind == FIELD_SPAN || f->kind == FIELD_DURATION) {
        append_time(out, value);
        return;
    }
    for (size_t i = 0; field_is_size(f) && i < COUNT_OF(suffixes); i++) {
        if (suffixes[i].factor % KIB == 0 && value >= suffixes[i].factor &&
            value % suffixes[i].factor == 0) {
            suffix = suffixes[i].text;
            factor = suffixes[i].factor;
        }
    }
    buffer_append_format(out, "%lld%s", (long long)(value / factor), suffix);
}

void field_append_bounds(const struct field *f, struct buffer *out)
{
    append_number(f, f->min, out);
    buffer_append_text(out, " to ");
    append_number(f, f->max, out);
}

static void append_choices(const char *const *choices, struct buffer *out)
{
    for (int i = 0; choices[i] != NULL; i++) {
        const char *before = i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ";
        buffer_append_format(out, "%s%s", before, choices[i]);
    }
}

void field_append_expected(const struct field *f, struct buffer *out)
{
    static const char *const words[] = {
        [FIELD_FLAG] = "true or false",
        [FIELD_INTEGER] = "a whole number",
        [FIELD_COUNT] = "a whole number",
        [FIELD_REAL] = "a number",
        [FIELD_SPAN] = "a time",
        [FIELD_DURATION] = "a time with its unit (us, ms, s, m, h, d), ",
        [FIELD_TEXT] = "a text that is not empty",
        [FIELD_ANY_TEXT] = "a text",
        [FIELD_NAME] = "",
        [FIELD_CHOICE] = "",
        [FIELD_PARSED] = "a text",
        [FIELD_CUSTOM] = "",
        [FIELD_MAP] = "a map",
        [FIELD_LIST] = "see its own table",
        [FIELD_NODE] = "see its own table",
    };
    buffer_append_text(out, f->expected != NULL ? f->expected : words[f->kind]);
    if (f->kind == FIELD_INTEGER || f->kind == FIELD_COUNT || f->kind == FIELD_REAL)
        buffer_append_format(out, " from %lld to %lld", (long long)f->min, (long long)f->max);
    if (f->kind == FIELD_COUNT)
        buffer_append_format(out, " (suffixes: %s)",
                             field_is_size(f)
                                 ? "KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB of 1000"
                                 : "k, M, G, T are powers of 1000");
    if (f->kind == FIELD_SPAN)
        buffer_append_format(out, "%s, such as 30s, 500ms, 2m or 1h", f->min > 0 ? " above 0" : "");
    if (f->kind == FIELD_DURATION)
        field_append_bounds(f, out);
    if (f->kind == FIELD_NAME && f->expected == NULL)
        buffer_append_format(
            out, "%lld to %zu ASCII characters without blanks, quotes, backslashes or controls",
            (long long)(f->min > 0 ? f->min : 1), f->size - 1);
    if (f->kind == FIELD_CHOICE)
        append_choices(f->choices, out);
}

void field_append_value(const struct field *f, const void *target, struct buffer *out)
{
    const void *member = (const char *)target + f->at;
    switch (f->kind) {
    case FIELD_INTEGER:
    case FIELD_COUNT:
    case FIELD_SPAN:
    case FIELD_DURATION:
        append_number(f, load_integer(f, member), out);
        break;
    case FIELD_REAL:
        buffer_append_format(out, "%g", *(const double *)member);
        break;
    case FIELD_TEXT:
    case FIELD_ANY_TEXT:
        if (*(const char *const *)member != NULL)
            buffer_append_text(out, *(const char *const *)member);
        break;
    case FIELD_NAME:
        buffer_append_text(out, member);
        break;
    case FIELD_CHOICE:
        buffer_append_text(out, f->choices[load_integer(f, member)]);
        break;
    default:
        break;
    }
}

/* ---- names ---- */

const struct field *field_find(const struct field *fields, size_t count, struct slice name)
{
    for (size_t i = 0; i < count && fields[i].name != NULL; i++)
        if (slice_is(name, fields[i].name) ||
            (fields[i].former != NULL && slice_is(name, fields[i].former)))
            return &fields[i];
    return NULL;
}

enum {
    NAME_SIZE_MAX = 31, /* a longer name is near to none */
    EDITS_MAX = 2
};

/* The least number of letters to insert, delete or change that turns a into b (Levenshtein). */
static size_t edits_between(struct slice a, struct slice b)
{
    size_t row[NAME_SIZE_MAX + 1];
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            size_t change = corner + (a.data[i - 1] != b.data[j - 1]);
            corner = row[j];
            row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.size];
}

size_t name_place(struct slice name, const char *const *names, size_t count, size_t stride)
{
    size_t i = 0;
    while (i < count && !slice_is(name, *(const char *const *)((const char *)names + i * stride)))
        i++;
    return i;
}

void nearest_name_add(struct nearest_name *n, const char *const *names, size_t count, size_t stride)
{
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)names + i * stride, sizeof name);
        const struct slice known = slice_of(name);
        if (known.size > NAME_SIZE_MAX || n->typed.size > NAME_SIZE_MAX)
            continue;
        const size_t edits = edits_between(n->typed, known);
        if (n->typed.size > 0 && slice_starts_with(known, n->typed)) {
            n->longer = name;
            n->longer_count++;
        }
        if (edits <= EDITS_MAX && (n->name == NULL || edits < n->edits) &&
            edits * 2 <= known.size + 1) {
            n->name = name;
            n->edits = edits;
        }
    }
}

void nearest_name_append(const struct nearest_name *n, const char *prefix, struct buffer *out)
{
    const char *name = n->name == NULL && n->longer_count == 1 ? n->longer : n->name;
    if (name != NULL)
        buffer_append_format(out, " (did you mean `%s%s`?)", prefix, name);
}

void nearest_name_suggest(struct slice typed, const char *prefix, const char *const *names,
                          size_t count, size_t stride, struct buffer *out)
{
    struct nearest_name n = {.typed = typed};
    nearest_name_add(&n, names, count, stride);
    nearest_name_append(&n, prefix, out);
}
