#include "cmd/load_history.h"

void load_history_invoke(FILE *f, const struct load_keys *keys, const struct load_request *r,
                         const char *table, bool consistent)
{
    if (f == NULL)
        return;
    char key[LOAD_KEY_SIZE_MAX];
    int size = (int)load_keys_text(keys, r->key, key);
    fprintf(f,
            "{\"op\":%llu,\"type\":\"invoke\",\"t\":%lld,\"f\":\"%s\",\"table\":\"%s\",\"key\":\"%."
            "*s\"",
            (unsigned long long)r->number, (long long)r->sent_ns, r->is_read ? "read" : "write",
            table, size, key);
    if (r->is_delete)
        fputs(",\"value\":null", f);
    else if (!r->is_read)
        fprintf(f, ",\"value\":\"%016llx\"", (unsigned long long)r->number);
    else if (!consistent)
        fputs(",\"consistent\":false", f);
    fputs("}\n", f);
}

/* The value of our own attribute in {"Item":{..,"v":{"S":"..."}}}. */
static struct slice value_of(struct slice body)
{
    static const char name[] = "\"v\":";
    const uint8_t *at = body.size ? memmem(body.data, body.size, name, strlen(name)) : NULL;
    if (at == NULL)
        return slice_make(NULL, 0);
    return load_find_text(slice_make(at, (size_t)(body.data + body.size - at)), "S");
}

void load_history_return(FILE *f, const struct load_request *r, int64_t now_ns,
                         const struct load_verdict *v, struct slice body)
{
    if (f == NULL)
        return;
    bool ok = v->outcome == LOAD_ADMITTED;
    bool unknown = v->applied_unknown && !r->is_read;
    fprintf(f, "{\"op\":%llu,\"type\":\"%s\",\"t\":%lld", (unsigned long long)r->number,
            ok        ? "ok"
            : unknown ? "info"
                      : "fail",
            (long long)now_ns);
    if (!ok)
        fprintf(f, ",\"error\":\"%s\"", v->error);
    if (ok && r->is_read) {
        struct slice value = value_of(body);
        if (value.size > 0)
            fprintf(f, ",\"value\":\"%.*s\"", (int)value.size, (const char *)value.data);
        else
            fputs(",\"value\":null", f);
    }
    fputs("}\n", f);
}
