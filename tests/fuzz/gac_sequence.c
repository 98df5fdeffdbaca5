/* A sequence of grant requests, each well-formed, to one server of global admission control:
 * whatever routers claim, in whatever order, no invariant of its ledgers breaks. gac_message.c has
 * raw bytes. Input: asks of 24 bytes. A first byte of amounts is a shift: small and huge claims
 * are as likely.
 */
#include "base/config.h"
#include "base/must.h"
#include "base/settings/gac.h"
#include "gac/server.h"

enum {
    ROUTERS = 4,
    TABLES = 2
};

static int64_t amount(struct reader *r)
{
    uint8_t shift = reader_u8(r);
    int64_t value = (int64_t)reader_u8(r) << shift % 56;
    return value <= GAC_AMOUNT_MAX ? value : GAC_AMOUNT_MAX;
}

static void check(struct slice frame)
{
    struct reader r = {frame, false};
    struct gac_answers answers;
    struct gac_answer answer;
    must(gac_answers_decode(&r, &answers) == STATUS_OK);
    for (uint32_t i = 0; i < answers.count; i++)
        must(gac_answer_decode(&r, &answer) == STATUS_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t epochs[ROUTERS][TABLES], numbers[ROUTERS][TABLES];
    struct config config;
    struct instant now = {NS_PER_S};
    struct reader r = {slice_make(data, size), false};
    memset(epochs, 0, sizeof epochs);
    memset(numbers, 0, sizeof numbers);
    config_init(&config, PROFILE_AWS);
    config_edit_gac(&config)->gac_routers_max = ROUTERS;
    struct gac_server *s = gac_server_create(&(struct gac_server_options){&config, 1, 2, 99});
    while (r.left.size > 0 && !r.failed) {
        struct buffer frame = {0}, answer = {0}, error = {0};
        uint8_t who = reader_u8(&r), how = reader_u8(&r);
        uint32_t router = who % ROUTERS, table = who / ROUTERS % TABLES;
        now.ns += (int64_t)(how >> 4) * (who >= 128 ? NS_PER_S : NS_PER_MS);
        if (epochs[router][table] == 0 || (how & 7) == 7) {
            epochs[router][table]++;
            numbers[router][table] = 0;
        }
        struct gac_request request = {.key = {table + 1, 0, GAC_WRITE},
                                      .policy = how & 8 ? GAC_PERIODIC : GAC_LEASE,
                                      .created = (how & 7) == 6,
                                      .epoch = epochs[router][table],
                                      .number = numbers[router][table] += (how & 7) != 5};
        request.number += request.number == 0;
        request.version = reader_u8(&r);
        request.rate = amount(&r);
        request.spent = amount(&r);
        request.pending = amount(&r);
        request.held = (how & 3) == 3 ? -amount(&r) : amount(&r);
        request.demand = amount(&r);
        request.need = amount(&r);
        request.cost = amount(&r);
        gac_requests_encode(&frame, &(struct gac_requests){router + 1, 1 + who / 64, 1});
        gac_request_encode(&frame, &request);
        must(gac_server_receive(s, now, (struct gac_origin){.link = router}, buffer_slice(&frame),
                                &answer, &error) == STATUS_OK);
        check(buffer_slice(&answer));
        if ((how & 7) == 4)
            gac_server_link_closed(s, router);
        buffer_deinit(&frame);
        buffer_deinit(&answer);
        buffer_deinit(&error);
    }
    gac_server_destroy(s);
    return 0;
}
