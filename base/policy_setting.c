/* policy_setting.c - finds policies by the names in settings. */
#include "base/policy_setting.h"

static struct slice setting_value(const struct policy_setting *s, const struct config *c)
{
    return slice_of((const char *)c + s->at);
}

const void *policy_own_find(const struct policy_setting *s, struct slice name)
{
    for (const struct policy_own *own = s->own; own->policy != NULL; own++) {
        if (slice_is(name, *own->name))
            return own->policy;
    }
    return NULL;
}

const void *policy_named(const struct policy_setting *s, const struct config *c, struct slice name)
{
    const void *own = policy_own_find(s, name);
    return own != NULL ? own : policies_policy(policies_find(c->policies, s->point, name));
}

const void *policy_configured(const struct policy_setting *s, const struct config *c)
{
    const void *policy = policy_named(s, c, setting_value(s, c));
    must(policy != NULL);
    return policy;
}

bool policy_settings_own(const struct policy_setting *s, size_t count, enum policy_point point,
                         const char *name)
{
    bool own = false;
    for (size_t i = 0; i < count; i++)
        own |= s[i].point == point && policy_own_find(&s[i], slice_of(name)) != NULL;
    return own;
}

enum status policy_settings_check(const struct policy_setting *s, size_t count,
                                  const struct config *c, struct buffer *error)
{
    const struct policy_setting *end = s + count;
    while (s < end && policy_named(s, c, setting_value(s, c)) != NULL)
        s++;
    if (s == end)
        return STATUS_OK;
    buffer_append_format(error, "%s '%s' is not known: it must be one of ", s->name,
                         (const char *)c + s->at);
    for (const struct policy_own *own = s->own; own->policy != NULL; own++)
        buffer_append_format(error, "%s%s", own == s->own ? "" : ", ", *own->name);
    policies_append_names(c->policies, s->point, error);
    buffer_append_text(error, ". --policy FILE.so loads more");
    return STATUS_MALFORMED;
}
