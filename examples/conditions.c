/* conditions.c - accounts in your own process: writes under conditions, counters, filters.
 *
 *   cc conditions.c $(pkg-config --cflags --libs weir) && ./a.out DIRECTORY */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <weir.h>

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

static void add_text(struct weir_item *item, const char *name, enum weir_type type,
                     const char *text)
{
    weir_item_add(item, name, type, text, strlen(text));
}

/* Makes the account, unless there is one. */
static enum weir_status open_account(struct weir_table *accounts, const char *id,
                                     const char *balance)
{
    struct weir_result result;
    struct weir_item *account = weir_item_create();
    add_text(account, "id", WEIR_STRING, id);
    add_text(account, "balance", WEIR_NUMBER, balance);
    struct weir_write_options if_new = {.condition = "attribute_not_exists(id)"};
    enum weir_status status = weir_put_if(accounts, account, &if_new, &result);
    weir_item_destroy(account);
    return status == WEIR_CONDITION_FAILED ? WEIR_OK : status;
}

static void show(const char *what, const struct weir_result *result)
{
    size_t position = 0;
    struct weir_cursor attrs;
    struct weir_attr a;
    char number[WEIR_NUMBER_TEXT_MAX];
    while (weir_result_next(result, &position, &attrs)) {
        printf("%s:", what);
        while (weir_cursor_next(&attrs, &a)) {
            if (a.type == WEIR_NUMBER)
                weir_attr_number(&a, number);
            printf(" %.*s=%.*s", (int)a.name_size, a.name,
                   (int)(a.type == WEIR_NUMBER ? strlen(number) : a.size),
                   a.type == WEIR_NUMBER ? number : (const char *)a.data);
        }
        printf("\n");
    }
}

/* Takes an amount off the account, but never more than there is. */
static enum weir_status withdraw(struct weir_table *accounts, const char *id, const char *amount)
{
    struct weir_result result;
    struct weir_item *key = weir_item_create(), *values = weir_item_create();
    add_text(key, "id", WEIR_STRING, id);
    add_text(values, ":amount", WEIR_NUMBER, amount);
    add_text(values, ":one", WEIR_NUMBER, "1");
    struct weir_write_options options = {.condition = "balance >= :amount",
                                         .placeholders = {.values = values},
                                         .returned = WEIR_RETURN_NEW,
                                         .return_if_failed = true};
    weir_update(accounts, key, "SET balance = balance - :amount ADD withdrawals :one", &options,
                &result);
    show(result.status == WEIR_OK ? "withdrawn" : "too little", &result);
    weir_item_destroy(key);
    weir_item_destroy(values);
    return result.status;
}

/* Counts the accounts with less than `limit`, page by page. */
static int count_below(struct weir *db, struct weir_table *accounts, const char *limit)
{
    int count = 0;
    struct weir_result result;
    struct weir_item *values = weir_item_create(), *last = weir_item_create();
    struct weir_name name = {"#b", "balance"};
    add_text(values, ":limit", WEIR_NUMBER, limit);
    struct weir_query_options options = {.limit = 10,
                                         .filter = "#b < :limit",
                                         .projection = "id, #b",
                                         .placeholders = {&name, 1, values}};
    do {
        if (weir_scan(accounts, &options, &result) != WEIR_OK)
            return -fail("scan", weir_error(db));
        show("low", &result);
        count += (int)result.count;
        options.after = last;
    } while (weir_result_last(&result, last));
    weir_item_destroy(values);
    weir_item_destroy(last);
    return count;
}

int main(int argc, char **argv)
{
    struct weir *db;
    struct weir_table *accounts;
    char *error, id[16];
    if (weir_open(argc > 1 ? argv[1] : "example-data", NULL, &db, &error) != WEIR_OK)
        return fail("open", error);
    struct weir_table_options options = {.partition_key = "id", .partition_key_type = WEIR_STRING};
    enum weir_status status = weir_table_create(db, "accounts", &options);
    if ((status != WEIR_OK && status != WEIR_EXISTS) ||
        weir_table_open(db, "accounts", &accounts) != WEIR_OK)
        return fail("table", weir_error(db));

    for (int i = 0; i < 30; i++) {
        snprintf(id, sizeof id, "account-%d", i);
        if (open_account(accounts, id, "100") != WEIR_OK)
            return fail("put", weir_error(db));
    }
    enum weir_status first = withdraw(accounts, "account-7", "60");
    enum weir_status second = withdraw(accounts, "account-7", "60");
    int low = count_below(db, accounts, "50");
    weir_close(db);
    return first == WEIR_OK && second == WEIR_CONDITION_FAILED && low == 1 ? 0 : 1;
}
