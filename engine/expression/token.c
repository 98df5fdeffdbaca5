/* token.c - cuts an expression into tokens. */
#include "engine/expression/token.h"

#include <strings.h>

#include "base/must.h"

static bool is_letter(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t word_size(struct slice s, size_t from)
{
    size_t at = from;
    while (at < s.size && (is_letter(s.data[at]) || is_digit(s.data[at])))
        at++;
    return at - from;
}

static bool word_is(struct slice word, const char *other)
{
    return word.size == strlen(other) &&
           strncasecmp((const char *)word.data, other, word.size) == 0;
}

bool token_is_section(struct slice word)
{
    return word_is(word, "SET") || word_is(word, "REMOVE") || word_is(word, "ADD") ||
           word_is(word, "DELETE");
}

bool token_is_placeholder(struct slice text, char sign)
{
    if (text.size < 2 || text.data[0] != (uint8_t)sign)
        return false;
    for (size_t i = 1; i < text.size; i++) {
        const uint8_t c = text.data[i];
        if (!is_letter(c) && !is_digit(c))
            return false;
    }
    return true;
}

static enum token_kind word_kind(struct slice word)
{
    static const struct {
        const char *word;
        enum token_kind kind;
    } WORDS[] = {{"AND", TOKEN_AND},
                 {"OR", TOKEN_OR},
                 {"NOT", TOKEN_NOT},
                 {"IN", TOKEN_IN},
                 {"BETWEEN", TOKEN_BETWEEN}};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        if (word_is(word, WORDS[i].word))
            return WORDS[i].kind;
    }
    return TOKEN_NAME;
}

static enum token_kind sign_kind(uint8_t c)
{
    switch (c) {
    case '=':
        return TOKEN_EQ;
    case '<':
        return TOKEN_LT;
    case '>':
        return TOKEN_GT;
    case '+':
        return TOKEN_PLUS;
    case '-':
        return TOKEN_MINUS;
    case ',':
        return TOKEN_COMMA;
    case '.':
        return TOKEN_DOT;
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    case '[':
        return TOKEN_OPEN_INDEX;
    case ']':
        return TOKEN_CLOSE_INDEX;
    default:
        return TOKEN_BAD;
    }
}

/* The size of the UTF-8 character that begins with `lead`, at most `left`. */
static size_t character_size(uint8_t lead, size_t left)
{
    size_t size = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return MIN(size, left);
}

struct token token_at(struct slice s, size_t from)
{
    must(from <= s.size);
    while (from < s.size && is_space(s.data[from]))
        from++;
    struct token t = {TOKEN_END, {s.data + from, 0}};
    if (from == s.size)
        return t;
    uint8_t c = s.data[from];
    uint8_t following = from + 1 < s.size ? s.data[from + 1] : 0;
    if (is_letter(c) && c != '_') {
        t.text.size = word_size(s, from);
        t.kind = word_kind(t.text);
    } else if (c == '#' || c == ':') {
        t.text.size = 1 + word_size(s, from + 1);
        t.kind = t.text.size == 1 ? TOKEN_BAD : c == '#' ? TOKEN_NAME_REF : TOKEN_VALUE_REF;
    } else if (is_digit(c)) {
        while (from + t.text.size < s.size && is_digit(s.data[from + t.text.size]))
            t.text.size++;
        t.kind = TOKEN_NUMBER;
    } else if ((c == '<' && (following == '=' || following == '>')) ||
               (c == '>' && following == '=')) {
        t.text.size = 2;
        t.kind = c == '>' ? TOKEN_GE : following == '=' ? TOKEN_LE : TOKEN_NE;
    } else {
        t.kind = sign_kind(c);
        t.text.size = t.kind == TOKEN_BAD ? character_size(c, s.size - from) : 1;
    }
    must(t.text.size > 0); /* so each parser ends */
    must(from + t.text.size <= s.size);
    return t;
}
