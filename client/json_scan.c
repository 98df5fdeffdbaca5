/* json_scan.c - see json_scan.h. */
#include "client/json_scan.h"

enum {
    DIGITS_MAX = 15, /* kept before the point */
    DECIMALS_MAX = 3 /* kept behind it */
};

#define DIGITS_LARGEST INT64_C(999999999999999)

static const char *json_scan_fail(struct json_scan *s)
{
    s->failed = true;
    s->at = s->end;
    return "";
}

struct json_scan json_scan_of(char *text, size_t size)
{
    return (struct json_scan){.at = text, .end = text + size};
}

/* The next byte that is no blank, which stays; 0 at the end. */
static char json_scan_peek(struct json_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
    return s->at < s->end ? *s->at : 0;
}

static void json_scan_expect(struct json_scan *s, char c)
{
    if (json_scan_peek(s) != c || s->at == s->end)
        json_scan_fail(s);
    else
        s->at++;
}

void json_scan_enter(struct json_scan *s, char c)
{
    json_scan_expect(s, c);
}

bool json_scan_more(struct json_scan *s, char c, bool *first)
{
    const bool was_first = *first;
    *first = false;
    if (s->failed)
        return false;
    if (json_scan_peek(s) == c) {
        s->at++;
        return false;
    }
    if (!was_first)
        json_scan_expect(s, ',');
    return !s->failed;
}

/* ---- texts ---- */

/* Four hexadecimal digits; -1: there are none. */
static int32_t json_scan_hex(struct json_scan *s)
{
    int32_t value = 0;
    if (s->end - s->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = *s->at++;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The character of \u, with the second half of a pair. 0: a failure. */
static uint32_t json_scan_character(struct json_scan *s)
{
    const int32_t first = json_scan_hex(s);
    if (first <= 0 || (first >= 0xdc00 && first < 0xe000))
        return 0;
    if (first < 0xd800 || first >= 0xe000)
        return (uint32_t)first;
    if (s->end - s->at < 2 || s->at[0] != '\\' || s->at[1] != 'u')
        return 0;
    s->at += 2;
    const int32_t second = json_scan_hex(s);
    if (second < 0xdc00 || second >= 0xe000)
        return 0;
    return 0x10000u + (((uint32_t)first - 0xd800u) << 10) + ((uint32_t)second - 0xdc00u);
}

/* UTF-8 is never longer than the escape was. */
static char *json_scan_put(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c >= 0x10000) {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 63));
    } else if (c >= 0x800) {
        *out++ = (char)(0xe0 | c >> 12);
    }
    *out++ = c < 0x800 ? (char)(0xc0 | c >> 6) : (char)(0x80 | (c >> 6 & 63));
    *out++ = (char)(0x80 | (c & 63));
    return out;
}

/* Behind a backslash. NULL: a failure. */
static char *json_scan_escape(struct json_scan *s, char *out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    if (s->at == s->end)
        return NULL;
    const char c = *s->at++;
    if (c == 'u') {
        const uint32_t character = json_scan_character(s);
        return character == 0 ? NULL : json_scan_put(out, character);
    }
    const char *found = c == 0 ? NULL : strchr(names, c);
    if (found == NULL)
        return NULL;
    *out = bytes[found - names];
    return out + 1;
}

const char *json_scan_text(struct json_scan *s)
{
    json_scan_expect(s, '"');
    char *const text = s->at, *out = text;
    while (s->at < s->end && *s->at != '"') {
        const char c = *s->at++;
        if ((uint8_t)c < ' ')
            return json_scan_fail(s);
        if (c == '\\')
            out = json_scan_escape(s, out);
        else
            *out++ = c;
        if (out == NULL)
            return json_scan_fail(s);
    }
    if (s->at == s->end)
        return json_scan_fail(s);
    s->at++;
    *out = 0; /* over the quote, or before it */
    return text;
}

const char *json_scan_name(struct json_scan *s)
{
    const char *name = json_scan_text(s);
    json_scan_expect(s, ':');
    return name;
}

/* ---- numbers ---- */

/* Keeps the first `kept` digits. */
static int json_scan_digits(struct json_scan *s, int kept, int64_t *value)
{
    int count = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++, count++)
        *value = count < kept ? *value * 10 + (*s->at - '0') : *value;
    return count;
}

/* Digits before and behind the point; -1: none. Exponents are left where they are. */
struct json_scan_number {
    bool negative;
    int64_t whole, decimals;
    int whole_count, decimal_count;
};

static struct json_scan_number json_scan_number(struct json_scan *s)
{
    struct json_scan_number n = {.negative = json_scan_peek(s) == '-'};
    if (n.negative)
        s->at++;
    const bool zero = s->at < s->end && *s->at == '0';
    n.whole_count = json_scan_digits(s, DIGITS_MAX, &n.whole);
    if (n.whole_count > DIGITS_MAX)
        n.whole = DIGITS_LARGEST;
    bool wrong = n.whole_count == 0 || (zero && n.whole_count > 1);
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        n.decimal_count = json_scan_digits(s, DECIMALS_MAX, &n.decimals);
        wrong = wrong || n.decimal_count == 0;
    }
    if (wrong)
        json_scan_fail(s);
    return n;
}

int64_t json_scan_thousandths(struct json_scan *s)
{
    const struct json_scan_number n = json_scan_number(s);
    const char next = s->at < s->end ? *s->at : 0;
    if (next == 'e' || next == 'E')
        json_scan_fail(s);
    if (s->failed)
        return 0;
    int64_t value = n.decimals;
    for (int i = n.decimal_count; i < DECIMALS_MAX; i++)
        value *= 10;
    value += n.whole * 1000;
    return n.negative ? -value : value;
}

int64_t json_scan_whole(struct json_scan *s)
{
    return json_scan_thousandths(s) / 1000;
}

static void json_scan_skip_number(struct json_scan *s)
{
    json_scan_number(s);
    if (s->at == s->end || (*s->at != 'e' && *s->at != 'E'))
        return;
    s->at++;
    if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
        s->at++;
    int64_t exponent = 0;
    if (json_scan_digits(s, DIGITS_MAX, &exponent) == 0)
        json_scan_fail(s);
}

/* ---- the rest ---- */

/* False: another text, which stays. */
static bool json_scan_word(struct json_scan *s, const char *word)
{
    const size_t size = strlen(word);
    json_scan_peek(s);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return false;
    s->at += size;
    return true;
}

static bool json_scan_truth(struct json_scan *s)
{
    if (json_scan_word(s, "true"))
        return true;
    if (!json_scan_word(s, "false"))
        json_scan_fail(s);
    return false;
}

static void json_scan_skip_scalar(struct json_scan *s, char c)
{
    if (c == '"')
        json_scan_text(s);
    else if (c == '-' || (c >= '0' && c <= '9'))
        json_scan_skip_number(s);
    else if (!json_scan_word(s, "null"))
        json_scan_truth(s);
}

void json_scan_skip(struct json_scan *s)
{
    char ends[JSON_SCAN_DEPTH_MAX]; /* of the lists and objects that are open */
    bool firsts[JSON_SCAN_DEPTH_MAX];
    size_t depth = 0;
    do {
        if (depth > 0 && !json_scan_more(s, ends[depth - 1], &firsts[depth - 1])) {
            depth--;
            continue;
        }
        if (depth > 0 && ends[depth - 1] == '}')
            json_scan_name(s);
        const char c = json_scan_peek(s);
        if (c != '[' && c != '{') {
            json_scan_skip_scalar(s, c);
            continue;
        }
        s->at++;
        if (depth == JSON_SCAN_DEPTH_MAX) {
            json_scan_fail(s);
            return;
        }
        firsts[depth] = true;
        ends[depth++] = c == '[' ? ']' : '}';
    } while (depth > 0 && !s->failed);
}

void json_scan_finish(struct json_scan *s)
{
    if (json_scan_peek(s) != 0 || s->at != s->end)
        json_scan_fail(s);
}
