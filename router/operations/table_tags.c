/* table_tags.c - checks, sorts and writes tags. */
#include "router/operations/table_tags.h"

#include "gac/grant_policy.h"
#include "router/json/json_writer.h"
#include "router/json/shapes.h"

/* ---- a list in the order of its keys ---- */

struct tag_list {
    uint32_t count;
    struct tag tags[TAGS_MAX];
};

static bool tag_list_add(struct call *c, struct tag_list *list, const struct tag *tag)
{
    uint32_t at = list->count;
    if (list->count == TAGS_MAX)
        return call_invalid(c, "Number of Tags exceed the current limit for the provided "
                               "ResourceArn");
    while (at > 0 && slice_compare(tag->key, list->tags[at - 1].key) < 0)
        at--;
    if (at > 0 && slice_equal(tag->key, list->tags[at - 1].key))
        return call_invalid(c, "Duplicate Tag Keys provided as input: Duplicate Tag Key found %.*s",
                            SHOWN(tag->key));
    memmove(&list->tags[at + 1], &list->tags[at], (list->count - at) * sizeof list->tags[0]);
    list->tags[at] = *tag;
    list->count++;
    return true;
}

static struct slice tag_list_encode(struct call *c, const struct tag_list *list)
{
    struct buffer bytes = {0};
    for (uint32_t i = 0; i < list->count; i++)
        tag_append(&bytes, &list->tags[i]);
    return arena_take(&c->arena, &bytes);
}

/* ---- allowed tags ---- */

/* Letters, digits, blanks and + - = . _ : / @; other than ASCII, any. */
static bool tag_text_is_valid(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i], letter = c | 0x20;
        if (c < 0x80 && (letter < 'a' || letter > 'z') && (c < '0' || c > '9') &&
            (c == 0 || strchr(" +-=._:/@", c) == NULL))
            return false;
    }
    return true;
}

static bool tag_check_texts(struct call *c, const struct tag *tag)
{
    if (!tag_text_is_valid(tag->key))
        return call_invalid(c, "The Tag Key provided is invalid, Key: %.*s", SHOWN(tag->key));
    if (!tag_text_is_valid(tag->value))
        return call_invalid(c, "The Tag Value provided is invalid, Value: %.*s", SHOWN(tag->value));
    return !slice_starts_with(tag->key, slice_of("aws:")) ||
           call_invalid(c, "Tag Key cannot be prefixed with aws:, Key: %.*s", SHOWN(tag->key));
}

static bool tag_refuse_unknown(struct call *c, struct slice key)
{
    return call_invalid(
        c,
        "The tag %.*s is unknown: the tags of weir are weir:gac, weir:weight and weir:key-sharding",
        SHOWN(key));
}

static bool tag_read_gac_tag(struct call *c, struct slice value, struct table_spec *spec)
{
    enum gac_policy policy;
    if (!gac_policy_find(value, &policy))
        return call_invalid(
            c,
            "The tag weir:gac is '%.*s' and may only be 'off', 'static', 'periodic', 'lease' or "
            "'named'",
            SHOWN(value));
    bool by_grants = table_policy_requests_grants(c->router->config, policy);
    if (by_grants && c->router->options.gac_servers == 0)
        return call_invalid(c,
                            "The tag weir:gac is '%.*s', which needs servers of global admission "
                            "control, and the cluster has none",
                            SHOWN(value));
    spec->gac = (uint8_t)(1 + policy);
    return true;
}

static bool tag_read_weight_tag(struct call *c, struct slice value, struct table_spec *spec)
{
    uint32_t weight = 0;
    for (size_t i = 0; i < value.size && weight <= TABLE_WEIGHT_MAX; i++) {
        uint8_t digit = value.data[i];
        weight = digit >= '0' && digit <= '9' ? weight * 10 + digit - '0' : UINT16_MAX;
    }
    if (weight == 0 || weight > TABLE_WEIGHT_MAX)
        return call_invalid(c,
                            "The tag weir:weight is '%.*s' and must be a whole number from 1 to %d",
                            SHOWN(value), TABLE_WEIGHT_MAX);
    spec->weight = (uint8_t)weight;
    return true;
}

/* Whether the table can have it is said by the catalog, which knows the table's sort key. */
static bool tag_check_key_sharding(struct call *c, const struct tag *tag)
{
    enum key_sharding_mode mode;
    uint32_t fixed;
    return key_sharding_mode_parse(tag->value, &mode, &fixed) ||
           call_invalid(
               c,
               "The tag %.*s is '%.*s' and may only be 'auto', 'counter', 'off', or a whole "
               "number from 2 to %d",
               SHOWN(tag->key), SHOWN(tag->value), KEY_SHARDS_MAX);
}

static bool tag_read_created(struct call *c, const struct tag *tag, struct table_spec *spec)
{
    if (slice_is(tag->key, "weir:gac"))
        return tag_read_gac_tag(c, tag->value, spec);
    if (slice_is(tag->key, "weir:weight"))
        return tag_read_weight_tag(c, tag->value, spec);
    if (table_tag_is_key_sharding(tag->key))
        return tag_check_key_sharding(c, tag);
    if (slice_starts_with(tag->key, slice_of("weir:")))
        return tag_refuse_unknown(c, tag->key);
    return tag_check_texts(c, tag);
}

static bool tag_check_changed(struct call *c, const struct tag *tag)
{
    if (slice_is(tag->key, "weir:gac") || slice_is(tag->key, "weir:weight"))
        return call_invalid(c, "The tag %.*s can only be given to CreateTable, and stays",
                            SHOWN(tag->key));
    if (table_tag_is_key_sharding(tag->key))
        return !tag->set || tag_check_key_sharding(c, tag);
    if (slice_starts_with(tag->key, slice_of("weir:")))
        return tag_refuse_unknown(c, tag->key);
    return tag_check_texts(c, tag);
}

/* ---- requests ---- */

static struct tag tag_of(const struct json_value *element)
{
    struct json_value m[SHAPE_MEMBERS_MAX];
    shape_bind(&shape_tag, element, m);
    return (struct tag){json_string(&m[TAG_KEY]), json_string(&m[TAG_VALUE]), true};
}

bool table_tags_create(struct call *c, const struct json_value *list, struct table_spec *spec)
{
    struct tag_list tags = {0};
    if (list->type != JSON_LIST)
        return true;
    struct json_value element;
    JSON_FOREACH (element, list) {
        struct tag tag = tag_of(&element);
        if (!tag_read_created(c, &tag, spec) || !tag_list_add(c, &tags, &tag))
            return false;
    }
    spec->tags = tag_list_encode(c, &tags);
    return true;
}

bool table_tags_change(struct call *c, const struct json_value *list, bool remove,
                       struct table_spec *spec)
{
    struct tag_list tags = {0};
    struct json_value element;
    JSON_FOREACH (element, list) {
        struct tag tag = remove ? (struct tag){.key = json_string(&element)} : tag_of(&element);
        if (!tag_check_changed(c, &tag) || !tag_list_add(c, &tags, &tag))
            return false;
    }
    if (tags.count == 0) /* the service's texts */
        return call_invalid(c, remove ? "Atleast one Tag Key needs to be provided as Input."
                                      : "Atleast one Tag needs to be provided as Input.");
    spec->tags = tag_list_encode(c, &tags);
    return true;
}

/* ---- answers ---- */

void table_tags_write(struct buffer *out, const struct table *t)
{
    struct slice list = t->tags;
    json_write_open(out, '[');
    for (struct tag tag; tags_next(&list, &tag);) {
        json_write_open(out, '{');
        json_member_string(out, "Key", tag.key);
        json_member_string(out, "Value", tag.value);
        json_write_close(out, '}');
    }
    json_write_close(out, ']');
}
