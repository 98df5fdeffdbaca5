/* limiter.c - limits calls of a language model by requests and by tokens, with weir's rate limiter.
 *
 *   weir limiter set --entity alice --resource model --limit rpm=3/60s --limit tpm=10000/60s
 *   cc limiter.c $(pkg-config --cflags --libs weir-limiter) && ./a.out http://127.0.0.1:8000 */
#include <stdio.h>
#include <weir/limiter.h>

/* Stands for the model: how many tokens the call used. Every third call fails. */
static int call_model(int number)
{
    return number % 3 == 2 ? -1 : 300 + 100 * number;
}

static int fail(struct weir_limiter *limiter, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, weir_limiter_error(limiter));
    return 1;
}

/* 0: the request is over, whether it passed or not. */
static int one_request(struct weir_limiter *limiter, int number)
{
    enum {
        ESTIMATE = 800
    };
    const struct weir_limiter_amount amounts[] = {{"rpm", WEIR_MTOK(1)},
                                                  {"tpm", WEIR_MTOK(ESTIMATE)}};
    const struct weir_limiter_request request = {.entity = "alice",
                                                 .resource = "model",
                                                 .amounts = amounts,
                                                 .amount_count = 2,
                                                 .lease_ms = 60000};
    struct weir_limiter_lease *lease;
    struct weir_limiter_answer answer;
    switch (weir_limiter_acquire(limiter, &request, &lease, &answer)) {
    case WEIR_LIMITER_OK:
        break;
    case WEIR_LIMITER_REFUSED:
        printf("request %d: refused, another try may pass in %lld ms\n", number,
               (long long)answer.retry_after_ms);
        return 0;
    default:
        return fail(limiter, "acquire");
    }
    const int used = call_model(number);
    enum weir_limiter_status status;
    if (used < 0) {
        status = weir_limiter_rollback(limiter, lease, &answer);
        printf("request %d: the model failed, and nothing is charged\n", number);
    } else {
        const struct weir_limiter_amount truth = {"tpm", WEIR_MTOK(used - ESTIMATE)};
        status = weir_limiter_adjust(limiter, lease, &truth, 1, &answer);
        if (status == WEIR_LIMITER_OK)
            status = weir_limiter_commit(limiter, lease, &answer);
        printf("request %d: %d tokens\n", number, used);
    }
    weir_limiter_lease_destroy(lease);
    return status == WEIR_LIMITER_OK ? 0 : fail(limiter, "the end of the lease");
}

int main(int argc, char **argv)
{
    struct weir_limiter *limiter;
    const struct weir_limiter_options options = {.url = argc > 1 ? argv[1] : NULL,
                                                 .timeout_ms = 2000};
    if (weir_limiter_open(&options, &limiter) != WEIR_LIMITER_OK) {
        fprintf(stderr, "%s is no URL like http://127.0.0.1:8000\n", argv[1]);
        return 2;
    }
    int failed = 0;
    for (int number = 1; number <= 5 && !failed; number++)
        failed = one_request(limiter, number);
    weir_limiter_close(limiter);
    return failed;
}
