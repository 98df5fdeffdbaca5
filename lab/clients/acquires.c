/* acquires.c - requests that acquire a token of the rate limiter, and what its refusals say. */
#include "lab/clients/clients_internal.h"
#include "lab/scenario/scenario_limit.h"

/* A key names the request: an attempt that repeats it has the same one. */
void acquires_write(struct clients *c, const struct attempt *a)
{
    const struct scenario_workload *w = a->source->workload->scenario;
    char entity[LOAD_KEY_SIZE_MAX];
    const size_t size = load_keys_text(&w->traffic.keys, a->traffic.key, entity);
    buffer_clear(&c->members);
    buffer_append_format(
        &c->members,
        "{\"entity\":\"%.*s\",\"resource\":\"%s\",\"consume\":{\"" SCENARIO_LIMIT_NAME "\":1}}",
        (int)size, entity, w->limiter);
    buffer_append_text(&c->bytes, "POST /limiter/v1/acquire HTTP/1.1\r\nHost: weir\r\n"
                                  "Content-Type: application/json\r\n");
    if (w->idempotency_keys)
        buffer_append_format(&c->bytes, "Idempotency-Key: %s-%llu\r\n", w->name,
                             (unsigned long long)a->traffic.number);
    buffer_append_text(&c->bytes, "Content-Length: ");
    client_write_length(&c->bytes, c->members.size);
    buffer_append_slice(&c->bytes, buffer_slice(&c->members));
}

uint32_t acquires_refusal(struct slice body)
{
    static const struct {
        const char *text;
        uint32_t reason;
    } refusals[] = {{"\"reason\":\"limit\"", REASON_LIMIT},
                    {"\"reason\":\"writes\"", REASON_WRITES}};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (memmem(body.data, body.size, refusals[i].text, strlen(refusals[i].text)) != NULL)
            return refusals[i].reason;
    }
    return 0;
}
