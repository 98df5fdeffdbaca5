#include "tests/support/rich_item.h"

#include "base/must.h"

static void rich_number(struct item_writer *w, const char *text)
{
    struct number n;
    must(number_parse(slice_of(text), &n) == NUMBER_OK);
    item_number(w, &n);
}

static void rich_scalars(struct item_writer *w)
{
    item_name(w, slice_of("s"));
    item_string(w, slice_of("abc"));
    item_name(w, slice_of("n"));
    rich_number(w, "1");
    item_name(w, slice_of("b"));
    item_binary(w, slice_make("\0\1", 2));
    item_name(w, slice_of("t"));
    item_bool(w, true);
    item_name(w, slice_of("z"));
    item_null(w);
}

static void rich_sets(struct item_writer *w)
{
    item_name(w, slice_of("ss"));
    item_open(w, ATTR_STRING_SET);
    item_string(w, slice_of("x"));
    item_string(w, slice_of("y"));
    item_close(w);
    item_name(w, slice_of("ns"));
    item_open(w, ATTR_NUMBER_SET);
    rich_number(w, "1");
    rich_number(w, "2");
    item_close(w);
    item_name(w, slice_of("bs"));
    item_open(w, ATTR_BINARY_SET);
    item_binary(w, slice_make("\0", 1));
    item_close(w);
}

static void rich_list(struct item_writer *w)
{
    item_name(w, slice_of("l"));
    item_open(w, ATTR_LIST);
    rich_number(w, "1");
    item_string(w, slice_of("x"));
    item_open(w, ATTR_MAP);
    item_name(w, slice_of("k"));
    item_open(w, ATTR_LIST);
    rich_number(w, "1");
    item_close(w);
    item_close(w);
    item_close(w);
}

static void rich_map(struct item_writer *w)
{
    item_name(w, slice_of("m"));
    item_open(w, ATTR_MAP);
    item_name(w, slice_of("x"));
    rich_number(w, "1");
    item_name(w, slice_of("s"));
    item_string(w, slice_of("abc"));
    item_name(w, slice_of("l"));
    item_open(w, ATTR_LIST);
    rich_number(w, "1");
    rich_number(w, "2");
    item_close(w);
    item_name(w, slice_of("m"));
    item_open(w, ATTR_MAP);
    item_name(w, slice_of("x"));
    item_string(w, slice_of("deep"));
    item_close(w);
    item_close(w);
}

struct slice rich_item(struct buffer *out, const struct attr *a)
{
    struct item_writer w;
    const size_t start = out->size;
    item_begin(&w, out);
    rich_scalars(&w);
    rich_sets(&w);
    rich_list(&w);
    rich_map(&w);
    if (a != NULL) {
        item_name(&w, slice_of("a"));
        item_attr(&w, a);
    }
    item_end(&w);
    return slice_make(out->data + start, out->size - start);
}

void rich_item_values(struct slice item, struct expression_name values[RICH_VALUES])
{
    static const char *const KEYS[RICH_VALUES] = {":s",  ":n",  ":b",  ":t", ":z",
                                                  ":ss", ":ns", ":bs", ":l", ":m"};
    for (int i = 0; i < RICH_VALUES; i++) {
        values[i] = (struct expression_name){.key = slice_of(KEYS[i])};
        must(item_find(item, slice_of(KEYS[i] + 1), &values[i].value));
    }
}
