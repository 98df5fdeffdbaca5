/* projection.c - the parser of projections, and items with only what a projection shows.
 *
 * An item is walked once. At each level the paths that lead there are sorted by their next step;
 * each attribute looks for its own. A list or map is written once something inside is shown. */
#include "engine/expression/projection.h"

#include <stdlib.h>

#include "engine/expression/parser.h"

const struct projection *projection_parse(struct slice text, struct expression_names *names,
                                          struct arena *arena, struct expression_fault *fault)
{
    struct parser p;
    if (!parser_init(&p, PARSER_PROJECTION, text, names, arena, fault))
        return NULL;
    do {
        struct path_part *path = parser_path(&p);
        if (path != NULL)
            parser_add_path(&p, path);
    } while (parser_accept(&p, TOKEN_COMMA));
    if (p.token.kind != TOKEN_END)
        parser_syntax_error(&p);
    if (fault->error != EXPRESSION_OK)
        return NULL;
    struct projection *out = arena_zalloc(arena, sizeof *out);
    *out = (struct projection){p.paths, p.path_count};
    return out;
}

/* ---- showing ---- */

enum {
    PROJECTION_FEW = 16 /* paths that are sorted without an allocation */
};

/* The next steps of paths, sorted. */
struct projection_steps {
    const struct path_part **list; /* borrows */
    size_t count;
};

struct projection_walk {
    struct item_writer w;
    struct {
        struct slice name;
        enum attr_type type;
    } entered[NESTING_MAX]; /* the lists and maps around the walk's place */
    uint32_t depth;         /* w.depth of them are written */
};

static int projection_compare_paths(const void *x, const void *y)
{
    return path_compare(*(const struct path_part *const *)x, *(const struct path_part *const *)y);
}

/* The steps that are `key`. */
static struct projection_steps projection_matching(struct projection_steps all,
                                                   const struct path_part *key)
{
    size_t low = 0, high = all.count;
    LOWER_BOUND(low, high, middle, path_step_compare(all.list[middle], key) < 0);
    while (high < all.count && path_step_compare(all.list[high], key) == 0)
        high++;
    return (struct projection_steps){all.list + low, high - low};
}

static void projection_name(struct projection_walk *walk, struct slice name)
{
    if (walk->w.open[walk->w.depth].type == ATTR_MAP)
        item_name(&walk->w, name);
}

/* Writes an attribute, and before it the lists and maps around it. */
static void projection_write(struct projection_walk *walk, struct slice name,
                             const struct attr *value)
{
    while (walk->w.depth < walk->depth) {
        const uint32_t at = walk->w.depth;
        projection_name(walk, walk->entered[at].name);
        item_open(&walk->w, walk->entered[at].type);
    }
    projection_name(walk, name);
    item_attr(&walk->w, value);
}

static void projection_show(struct projection_walk *walk, struct attr_cursor from,
                            struct projection_steps steps);

/* Shows what the paths lead to in an attribute that all of them go through or end at. */
static void projection_enter(struct projection_walk *walk, struct slice name,
                             const struct attr *value, struct projection_steps steps)
{
    bool whole = false;
    must(steps.count > 0);
    must(walk->w.depth <= walk->depth);
    for (size_t i = 0; i < steps.count; i++)
        whole = whole || steps.list[i]->next == NULL;
    if (whole)
        projection_write(walk, name, value);
    if (whole || (value->type != ATTR_MAP && value->type != ATTR_LIST))
        return;
    const struct path_part *few[PROJECTION_FEW];
    struct projection_steps next = {few, steps.count};
    if (steps.count > PROJECTION_FEW)
        next.list = must_calloc(steps.count, sizeof(const struct path_part *));
    for (size_t i = 0; i < steps.count; i++)
        next.list[i] = steps.list[i]->next;
    must(walk->depth < NESTING_MAX);
    walk->entered[walk->depth].name = name;
    walk->entered[walk->depth++].type = value->type;
    projection_show(walk, attr_elements(value), next);
    if (walk->w.depth == walk->depth)
        item_close(&walk->w);
    walk->depth--;
    if (next.list != few)
        free(next.list);
}

static void projection_show(struct projection_walk *walk, struct attr_cursor from,
                            struct projection_steps steps)
{
    struct path_part key = {.indexed = !from.named};
    struct attr value;
    size_t left = steps.count;
    for (; left > 0 && attr_next(&from, &key.name, &value); key.index += key.indexed) {
        struct projection_steps mine = projection_matching(steps, &key);
        must(mine.count <= left); /* each path is entered once */
        left -= mine.count;
        if (mine.count > 0)
            projection_enter(walk, key.name, &value, mine);
    }
}

void projection_append(struct buffer *out, const struct projection *projection, struct slice item)
{
    const struct path_part *few[PROJECTION_FEW];
    struct projection_steps steps = {few, 0};
    struct projection_walk walk = {.depth = 0};
    if (projection->count > PROJECTION_FEW)
        steps.list = must_calloc(projection->count, sizeof(const struct path_part *));
    for (const struct projection_path *p = projection->paths; p != NULL; p = p->next) {
        must(steps.count < projection->count);
        steps.list[steps.count++] = p->path;
    }
    must(steps.count == projection->count);
    qsort(steps.list, steps.count, sizeof(const struct path_part *), projection_compare_paths);
    item_begin(&walk.w, out);
    projection_show(&walk, item_attrs(item), steps);
    must(walk.depth == 0);
    item_end(&walk.w);
    if (steps.list != few)
        free(steps.list);
}
