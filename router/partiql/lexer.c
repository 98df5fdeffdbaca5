/* lexer.c - cuts a PartiQL statement into tokens. */
#include "router/partiql/lexer.h"

#include <strings.h>

#include "router/partiql/grammar.h"

static const struct {
    const char *word;
    int kind;
} WORDS[] = {
    {"SELECT", PARTIQL_SELECT},
    {"FROM", PARTIQL_FROM},
    {"WHERE", PARTIQL_WHERE},
    {"ORDER", PARTIQL_ORDER},
    {"BY", PARTIQL_BY},
    {"ASC", PARTIQL_ASC},
    {"DESC", PARTIQL_DESC},
    {"INSERT", PARTIQL_INSERT},
    {"INTO", PARTIQL_INTO},
    {"VALUE", PARTIQL_VALUE},
    {"UPDATE", PARTIQL_UPDATE},
    {"SET", PARTIQL_SET},
    {"REMOVE", PARTIQL_REMOVE},
    {"DELETE", PARTIQL_DELETE},
    {"AS", PARTIQL_AS},
    {"RETURNING", PARTIQL_RETURNING},
    {"ALL", PARTIQL_ALL},
    {"OLD", PARTIQL_OLD},
    {"NEW", PARTIQL_NEW},
    {"AND", PARTIQL_AND},
    {"MODIFIED", PARTIQL_MODIFIED},
    {"OR", PARTIQL_OR},
    {"NOT", PARTIQL_NOT},
    {"BETWEEN", PARTIQL_BETWEEN},
    {"IN", PARTIQL_IN},
    {"IS", PARTIQL_IS},
    {"MISSING", PARTIQL_MISSING},
    {"NULL", PARTIQL_NULL},
    {"TRUE", PARTIQL_TRUE},
    {"FALSE", PARTIQL_FALSE},
    {"EXISTS", PARTIQL_EXISTS},
};

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static uint8_t byte_at(struct slice s, size_t at)
{
    return at < s.size ? s.data[at] : 0;
}

/* The end of the text or name whose quote is at `from`. A doubled quote stands for one. 0: there is
 * no end. */
static size_t quoted_end(struct slice s, size_t from)
{
    const uint8_t quote = s.data[from];
    for (size_t at = from + 1; at < s.size; at++) {
        if (s.data[at] != quote)
            continue;
        if (byte_at(s, at + 1) != quote)
            return at + 1;
        at++;
    }
    return 0;
}

static size_t digits_end(struct slice s, size_t from)
{
    while (from < s.size && is_digit(s.data[from]))
        from++;
    return from;
}

/* 12, 1.5, 1e3, 1.5E-3 */
static size_t number_end(struct slice s, size_t from)
{
    size_t end = digits_end(s, from);
    if (byte_at(s, end) == '.' && is_digit(byte_at(s, end + 1)))
        end = digits_end(s, end + 1);
    if (byte_at(s, end) != 'e' && byte_at(s, end) != 'E')
        return end;
    const uint8_t sign = byte_at(s, end + 1);
    const size_t digits = end + 1 + (sign == '+' || sign == '-');
    return is_digit(byte_at(s, digits)) ? digits_end(s, digits) : end;
}

static int word_kind(struct slice word)
{
    for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
        if (word.size == strlen(WORDS[i].word) &&
            strncasecmp((const char *)word.data, WORDS[i].word, word.size) == 0)
            return WORDS[i].kind;
    }
    return PARTIQL_ID;
}

/* The end of the blanks and comments that begin at `from`. A comment without its end is a token. */
static size_t blanks_end(struct slice s, size_t from)
{
    while (from < s.size) {
        const uint8_t c = s.data[from], next = byte_at(s, from + 1);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            from++;
        } else if (c == '-' && next == '-') {
            while (from < s.size && s.data[from] != '\n')
                from++;
        } else if (c == '/' && next == '*') {
            const uint8_t *end = memmem(s.data + from + 2, s.size - from - 2, "*/", 2);
            if (end == NULL)
                return from;
            from = (size_t)(end - s.data) + 2;
        } else {
            return from;
        }
    }
    return from;
}

static const struct {
    const char *sign;
    int kind;
} SIGNS[] = {
    /* the longer ones first */
    {"<<", PARTIQL_LTLT},  {">>", PARTIQL_GTGT},  {"<>", PARTIQL_NE},       {"<=", PARTIQL_LE},
    {">=", PARTIQL_GE},    {"!=", PARTIQL_NE},    {"<", PARTIQL_LT},        {">", PARTIQL_GT},
    {"=", PARTIQL_EQ},     {"+", PARTIQL_PLUS},   {"-", PARTIQL_MINUS},     {"*", PARTIQL_STAR},
    {".", PARTIQL_DOT},    {",", PARTIQL_COMMA},  {":", PARTIQL_COLON},     {";", PARTIQL_SEMI},
    {"(", PARTIQL_LP},     {")", PARTIQL_RP},     {"[", PARTIQL_LB},        {"]", PARTIQL_RB},
    {"{", PARTIQL_LBRACE}, {"}", PARTIQL_RBRACE}, {"?", PARTIQL_PARAMETER},
};

static struct lexer_token sign_at(struct slice s, size_t from)
{
    const struct slice left = slice_make(s.data + from, s.size - from);
    for (size_t i = 0; i < COUNT_OF(SIGNS); i++) {
        const struct slice sign = slice_of(SIGNS[i].sign);
        if (slice_starts_with(left, sign))
            return (struct lexer_token){SIGNS[i].kind, slice_make(left.data, sign.size)};
    }
    return (struct lexer_token){LEXER_BAD, slice_make(left.data, 1)};
}

struct lexer_token lexer_token_at(struct slice s, size_t from)
{
    from = blanks_end(s, from);
    struct lexer_token t = {LEXER_END, {s.data + from, 0}};
    if (from == s.size)
        return t;
    const uint8_t c = s.data[from];
    if (is_letter(c)) {
        while (is_letter(byte_at(s, from + t.text.size)) ||
               is_digit(byte_at(s, from + t.text.size)))
            t.text.size++;
        t.kind = word_kind(t.text);
    } else if (is_digit(c) || (c == '.' && is_digit(byte_at(s, from + 1)))) {
        t.text.size = number_end(s, from) - from;
        t.kind = PARTIQL_NUMBER;
    } else if (c == '\'' || c == '"') {
        const size_t end = quoted_end(s, from);
        t.text.size = end == 0 ? 1 : end - from;
        t.kind = end == 0 ? LEXER_BAD : c == '"' ? PARTIQL_QUOTED : PARTIQL_STRING;
    } else if (c == '/') {
        t = (struct lexer_token){LEXER_BAD, slice_make(s.data + from, 1)};
    } else {
        t = sign_at(s, from);
    }
    return t;
}

bool lexer_is_keyword(int kind)
{
    for (size_t i = 0; i < COUNT_OF(WORDS); i++) {
        if (WORDS[i].kind == kind)
            return kind != PARTIQL_AND && kind != PARTIQL_OR && kind != PARTIQL_IS &&
                   kind != PARTIQL_IN && kind != PARTIQL_BETWEEN;
    }
    return false;
}

bool lexer_is_operator(int kind)
{
    static const uint8_t KINDS[] = {PARTIQL_AND,     PARTIQL_OR, PARTIQL_IS, PARTIQL_IN,
                                    PARTIQL_BETWEEN, PARTIQL_EQ, PARTIQL_NE, PARTIQL_LT,
                                    PARTIQL_LE,      PARTIQL_GT, PARTIQL_GE};
    return memchr(KINDS, kind, sizeof KINDS) != NULL;
}

bool lexer_may_end(int kind)
{
    static const uint8_t KINDS[] = {
        PARTIQL_ID,   PARTIQL_QUOTED, PARTIQL_STRING, PARTIQL_NUMBER,  PARTIQL_PARAMETER,
        PARTIQL_STAR, PARTIQL_RP,     PARTIQL_RB,     PARTIQL_RBRACE,  PARTIQL_GTGT,
        PARTIQL_TRUE, PARTIQL_FALSE,  PARTIQL_NULL,   PARTIQL_MISSING, PARTIQL_ASC,
        PARTIQL_DESC, PARTIQL_SEMI,   PARTIQL_OLD,    PARTIQL_NEW,     PARTIQL_MODIFIED};
    return memchr(KINDS, kind, sizeof KINDS) != NULL;
}
