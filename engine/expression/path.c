/* path.c - the order of paths, and which attributes the paths of an expression lead to. */
#include "engine/expression/condition.h"
#include "engine/expression/projection.h"
#include "engine/expression/update.h"

int path_step_compare(const struct path_part *a, const struct path_part *b)
{
    if (a->indexed != b->indexed)
        return a->indexed ? -1 : 1;
    if (a->indexed)
        return (a->index > b->index) - (a->index < b->index);
    return slice_compare(a->name, b->name);
}

int path_compare(const struct path_part *a, const struct path_part *b)
{
    int order = 0;
    for (; order == 0 && a != NULL && b != NULL; a = a->next, b = b->next)
        order = path_step_compare(a, b);
    return order != 0 ? order : (a != NULL) - (b != NULL);
}

static bool path_leads_into(const struct path_part *path, struct slice name, bool below)
{
    must(!path->indexed); /* a path begins with an attribute */
    return slice_equal(path->name, name) && (!below || path->next != NULL);
}

bool condition_uses(const struct condition *c, struct slice name, bool below)
{
    if (c->kind == CONDITION_PATH)
        return path_leads_into(c->path, name, below);
    for (const struct condition *a = c->args; a != NULL; a = a->next) {
        if (condition_uses(a, name, below))
            return true;
    }
    return false;
}

bool projection_uses(const struct projection *p, struct slice name)
{
    for (const struct projection_path *at = p->paths; at != NULL; at = at->next) {
        if (path_leads_into(at->path, name, true))
            return true;
    }
    return false;
}

bool update_changes(const struct update *u, struct slice name)
{
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        if (path_leads_into(a->path, name, false))
            return true;
    }
    return false;
}

bool update_changes_part(const struct update *u, struct slice name)
{
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        if (path_leads_into(a->path, name, true))
            return true;
    }
    return false;
}

static enum attr_type update_type_of(const struct update_value *v)
{
    switch (v->kind) {
    case UPDATE_VALUE:
        return v->value.type;
    case UPDATE_PLUS:
    case UPDATE_MINUS:
        return ATTR_NUMBER;
    case UPDATE_LIST_APPEND:
        return ATTR_LIST;
    default:
        return 0;
    }
}

enum attr_type update_value_type(const struct update *u, struct slice name)
{
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        if (a->value != NULL && path_leads_into(a->path, name, false))
            return update_type_of(a->value);
    }
    return 0;
}

/* Whether a path in the value leads into the attribute. */
static bool update_value_uses(const struct update_value *v, struct slice name)
{
    return v != NULL && ((v->path != NULL && path_leads_into(v->path, name, true)) ||
                         update_value_uses(v->left, name) || update_value_uses(v->right, name));
}

bool update_uses(const struct update *u, struct slice name)
{
    for (const struct update_action *a = u->actions; a != NULL; a = a->next) {
        if (update_value_uses(a->value, name))
            return true;
    }
    return false;
}
