/* digest.c - digests of expressions, for requests that are compared later. */
#include "engine/expression/digest.h"

#include <xxhash.h>

#include "engine/item/equal.h"

static uint64_t digest_number(uint64_t number, uint64_t digest)
{
    return XXH3_64bits_withSeed(&number, sizeof number, digest);
}

static uint64_t digest_path(const struct path_part *path, uint64_t digest)
{
    for (const struct path_part *p = path; p != NULL; p = p->next) {
        digest = digest_number(p->indexed ? p->index : UINT64_MAX, digest);
        digest = XXH3_64bits_withSeed(p->name.data, p->name.size, digest);
    }
    return digest;
}

uint64_t condition_digest(const struct condition *c)
{
    if (c == NULL)
        return 0;
    uint64_t digest = digest_number((uint64_t)c->kind, c->arg_count);
    digest = digest_number((uint64_t)c->op, digest + (uint64_t)c->function);
    digest = digest_path(c->path, digest);
    if (c->kind == CONDITION_VALUE)
        digest = digest_number(attr_digest(&c->value), digest);
    for (const struct condition *a = c->args; a != NULL; a = a->next)
        digest = digest_number(condition_digest(a), digest);
    return digest;
}

static uint64_t digest_update_value(const struct update_value *v)
{
    if (v == NULL)
        return 0;
    uint64_t digest = digest_path(v->path, (uint64_t)v->kind);
    if (v->kind == UPDATE_VALUE)
        digest = digest_number(attr_digest(&v->value), digest);
    digest = digest_number(digest_update_value(v->left), digest);
    return digest_number(digest_update_value(v->right), digest);
}

uint64_t update_digest(const struct update *u)
{
    uint64_t digest = 0;
    for (const struct update_action *a = u != NULL ? u->actions : NULL; a != NULL; a = a->next) {
        digest = digest_path(a->path, digest_number((uint64_t)a->verb, digest));
        digest = digest_number(digest_update_value(a->value), digest);
    }
    return digest;
}
