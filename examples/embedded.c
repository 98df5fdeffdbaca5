/* embedded.c - a table with real throughput limits inside your own process.
 *
 *   cc embedded.c $(pkg-config --cflags --libs weir) && ./a.out DIRECTORY */
#include <stdio.h>
#include <string.h>
#include <weir.h>

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

int main(int argc, char **argv)
{
    struct weir *db;
    char *error;
    if (weir_open(argc > 1 ? argv[1] : "example-data", NULL, &db, &error) != WEIR_OK)
        return fail("open", error);

    /* Five writes a second, in one partition; unused ones are saved up for bursts. */
    struct weir_table_options options = {.partition_key = "user",
                                         .partition_key_type = WEIR_STRING,
                                         .sort_key = "at",
                                         .sort_key_type = WEIR_NUMBER,
                                         .read_units = 100,
                                         .write_units = 5};
    enum weir_status status = weir_table_create(db, "visits", &options);
    struct weir_table *visits;
    if ((status != WEIR_OK && status != WEIR_EXISTS) ||
        weir_table_open(db, "visits", &visits) != WEIR_OK)
        return fail("table", weir_error(db));

    struct weir_item *item = weir_item_create();
    struct weir_result result;
    int written = 0, throttled = 0;
    for (int i = 0; i < 20; i++) {
        char at[16];
        snprintf(at, sizeof at, "%d", i);
        weir_item_clear(item);
        weir_item_add(item, "user", WEIR_STRING, "ann", 3);
        weir_item_add(item, "at", WEIR_NUMBER, at, strlen(at));
        if (weir_put(visits, item, &result) == WEIR_OK)
            written++;
        else if (result.status == WEIR_THROTTLED)
            throttled++;
        else
            return fail("put", weir_error(db));
    }
    printf("%d written, %d throttled; the next would pass in %.0f ms\n", written, throttled,
           (double)result.wait_ns / 1e6);

    weir_query(visits, item, &(struct weir_query_options){.reverse = true, .limit = 3}, &result);
    printf("the last %u of them cost %.1f read units\n", result.count,
           (double)result.consumed_mcu / 1000);
    weir_item_destroy(item);
    weir_close(db);
    return written >= 5 && throttled > 0 && result.count == 3 ? 0 : 1;
}
