/* limiter_client.c - the rate limiter's client (include/weir/limiter.h), driven by lines.
 *
 *   limiter_client URL NAMESPACE TIMEOUT_MS ATTEMPTS block|allow
 *
 * A line of standard input is a command, and each has one line of JSON as its answer:
 *
 *   acquire ENTITY RESOURCE LEASE_MS NAME=MTOK..
 *   consume|adjust|release NAME=MTOK..      of the lease of the last acquire
 *   commit|rollback
 *
 * limiter_client_test.py writes the lines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/limiter.h>

enum {
    WORDS_MAX = 16
};

struct driver {
    struct weir_limiter *limiter;
    struct weir_limiter_lease *lease;
    struct weir_limiter_amount amounts[WORDS_MAX];
    uint32_t count;
};

static const char *const statuses[] = {"ok",    "refused", "no-limits",
                                       "lease", "invalid", "unavailable"};

static void driver_print(const struct driver *d, enum weir_limiter_status status,
                         const struct weir_limiter_answer *answer)
{
    printf("{\"status\":\"%s\",\"uncounted\":%s,\"retry_after_ms\":%" PRId64
           ",\"reason\":\"%s\",\"limit\":\"%s\",\"lease\":%s,\"expires_ms\":%" PRId64
           ",\"levels\":[",
           statuses[status], answer->uncounted ? "true" : "false", answer->retry_after_ms,
           answer->reason == NULL ? "" : answer->reason, answer->limit == NULL ? "" : answer->limit,
           d->lease == NULL ? "false" : "true", weir_limiter_lease_expires_ms(d->lease));
    for (uint32_t i = 0; i < answer->balance_count; i++) {
        const struct weir_limiter_balance *balance = &answer->balances[i];
        printf("%s[\"%s\",\"%s\",%" PRId64 ",%" PRId64 ",%" PRId64 "]", i == 0 ? "" : ",",
               balance->entity, balance->name, balance->capacity_mtok, balance->remaining_mtok,
               balance->reset_ms);
    }
    printf("],\"error\":%s}\n", status == WEIR_LIMITER_OK ? "false" : "true");
    if (status != WEIR_LIMITER_OK)
        fprintf(stderr, "%s\n", weir_limiter_error(d->limiter));
    fflush(stdout);
}

/* NAME=MTOK; ends the name where the = was. */
static void driver_take_amounts(struct driver *d, char *words[], int count)
{
    d->count = 0;
    for (int i = 0; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (value == NULL)
            exit(2);
        *value = '\0';
        d->amounts[d->count++] =
            (struct weir_limiter_amount){words[i], strtoll(value + 1, NULL, 10)};
    }
}

static enum weir_limiter_status driver_acquire(struct driver *d, char *words[], int count,
                                               struct weir_limiter_answer *answer)
{
    if (count < 4)
        exit(2);
    driver_take_amounts(d, words + 4, count - 4);
    weir_limiter_lease_destroy(d->lease);
    d->lease = NULL;
    const struct weir_limiter_request request = {.entity = words[1],
                                                 .resource = words[2],
                                                 .amounts = d->amounts,
                                                 .amount_count = d->count,
                                                 .lease_ms = (uint32_t)strtoul(words[3], NULL, 10)};
    return weir_limiter_acquire(d->limiter, &request, &d->lease, answer);
}

static void driver_run(struct driver *d, char *words[], int count)
{
    struct weir_limiter_answer answer;
    enum weir_limiter_status status = WEIR_LIMITER_INVALID;
    if (strcmp(words[0], "acquire") == 0) {
        status = driver_acquire(d, words, count, &answer);
        driver_print(d, status, &answer);
        return;
    }
    driver_take_amounts(d, words + 1, count - 1);
    if (strcmp(words[0], "consume") == 0)
        status = weir_limiter_consume(d->limiter, d->lease, d->amounts, d->count, &answer);
    else if (strcmp(words[0], "adjust") == 0)
        status = weir_limiter_adjust(d->limiter, d->lease, d->amounts, d->count, &answer);
    else if (strcmp(words[0], "release") == 0)
        status = weir_limiter_release(d->limiter, d->lease, d->amounts, d->count, &answer);
    else if (strcmp(words[0], "commit") == 0)
        status = weir_limiter_commit(d->limiter, d->lease, &answer);
    else if (strcmp(words[0], "rollback") == 0)
        status = weir_limiter_rollback(d->limiter, d->lease, &answer);
    else
        exit(2);
    driver_print(d, status, &answer);
}

int main(int argc, char **argv)
{
    struct driver d = {0};
    char line[4096];
    if (argc != 6)
        return 2;
    const struct weir_limiter_options options = {
        .url = argv[1],
        .name_space = argv[2],
        .timeout_ms = (uint32_t)strtoul(argv[3], NULL, 10),
        .attempts = (uint32_t)strtoul(argv[4], NULL, 10),
        .outage = strcmp(argv[5], "allow") == 0 ? WEIR_LIMITER_ALLOW : WEIR_LIMITER_BLOCK};
    if (weir_limiter_open(&options, &d.limiter) != WEIR_LIMITER_OK) {
        fprintf(stderr, "no URL: %s\n", argv[1]);
        return 3;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *words[WORDS_MAX], *rest = NULL;
        int count = 0;
        for (char *w = strtok_r(line, " \n", &rest); w != NULL && count < WORDS_MAX;
             w = strtok_r(NULL, " \n", &rest))
            words[count++] = w;
        if (count > 0)
            driver_run(&d, words, count);
    }
    weir_limiter_lease_destroy(d.lease);
    weir_limiter_close(d.limiter);
    return 0;
}
