/* disk_account.c - divides what a disk has free among the stores of the process. */
#include "base/disk_account.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/must.h"

struct disk_share {
    LIST_ENTRY(disk_share) place;
    struct disk_account *account; /* borrows */
    _Atomic uint64_t need;
    _Atomic uint64_t quota;
    uint64_t needed; /* `need`, as the division has read it */
};

struct disk_account {
    uint64_t (*free_bytes)(void *context);
    void *context;
    pthread_mutex_t lock;
    LIST_HEAD(, disk_share) shares;
    uint32_t count;
    uint64_t free;  /* when the disk was last asked */
    uint64_t taken; /* of it for files that are being made */
};

/* ---- under the lock ---- */

static uint64_t account_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t account_left(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t account_free(const struct disk_account *a)
{
    return a->free == UINT64_MAX ? UINT64_MAX : account_left(a->free, a->taken);
}

/* Reads each need once: it changes meanwhile. Returns their sum. */
static uint64_t account_read_needs(struct disk_account *a)
{
    uint64_t sum = 0;
    struct disk_share *s;
    LIST_FOREACH (s, &a->shares, place) {
        s->needed = atomic_load_explicit(&s->need, memory_order_relaxed);
        sum = account_add(sum, s->needed);
    }
    return sum;
}

/* SHARE-1, SHARE-2 */
static void account_divide(struct disk_account *a)
{
    const uint64_t left = account_free(a), needs = account_read_needs(a);
    struct disk_share *s;
    LIST_FOREACH (s, &a->shares, place) {
        const uint64_t quota = needs <= left ? s->needed + (left - needs) / a->count
                                             : (uint64_t)((__uint128_t)left * s->needed / needs);
        atomic_store_explicit(&s->quota, quota, memory_order_relaxed);
    }
}

static void account_measure(struct disk_account *a)
{
    a->free = a->free_bytes(a->context);
    account_divide(a);
}

static bool account_has(struct disk_account *a, uint64_t bytes, uint64_t kept_each)
{
    const uint64_t kept =
        kept_each > UINT64_MAX / (a->count + 1) ? UINT64_MAX : kept_each * a->count;
    return account_left(account_free(a), account_read_needs(a)) >= account_add(bytes, kept);
}

/* ---- the account ---- */

struct disk_account *disk_account_create(uint64_t (*free_bytes)(void *context), void *context)
{
    struct disk_account *a = must_calloc(1, sizeof *a);
    a->free_bytes = free_bytes;
    a->context = context;
    pthread_mutex_init(&a->lock, NULL);
    LIST_INIT(&a->shares);
    return a;
}

void disk_account_destroy(struct disk_account *a)
{
    if (a == NULL)
        return;
    must(a->count == 0);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

struct disk_share *disk_account_join(struct disk_account *a)
{
    struct disk_share *s = must_calloc(1, sizeof *s);
    s->account = a;
    pthread_mutex_lock(&a->lock);
    LIST_INSERT_HEAD(&a->shares, s, place);
    a->count++;
    account_measure(a);
    pthread_mutex_unlock(&a->lock);
    return s;
}

void disk_share_leave(struct disk_share *s)
{
    if (s == NULL)
        return;
    struct disk_account *a = s->account;
    pthread_mutex_lock(&a->lock);
    LIST_REMOVE(s, place);
    a->count--;
    account_divide(a);
    pthread_mutex_unlock(&a->lock);
    free(s);
}

uint64_t disk_share_quota(const struct disk_share *s)
{
    return atomic_load_explicit(&s->quota, memory_order_relaxed);
}

void disk_share_set_need(struct disk_share *s, uint64_t bytes)
{
    atomic_store_explicit(&s->need, bytes, memory_order_relaxed);
}

void disk_share_measure(struct disk_share *s)
{
    pthread_mutex_lock(&s->account->lock);
    account_measure(s->account);
    pthread_mutex_unlock(&s->account->lock);
}

void disk_share_settle(struct disk_share *s)
{
    pthread_mutex_lock(&s->account->lock);
    account_divide(s->account);
    pthread_mutex_unlock(&s->account->lock);
}

void disk_account_take(struct disk_account *a, uint64_t bytes)
{
    pthread_mutex_lock(&a->lock);
    a->taken += bytes;
    account_measure(a);
    pthread_mutex_unlock(&a->lock);
}

bool disk_account_take_ahead(struct disk_account *a, uint64_t bytes, uint64_t kept_each)
{
    pthread_mutex_lock(&a->lock);
    a->free = a->free_bytes(a->context);
    const bool takes = account_has(a, bytes, kept_each);
    if (takes)
        a->taken += bytes;
    account_divide(a);
    pthread_mutex_unlock(&a->lock);
    return takes;
}

void disk_account_taken(struct disk_account *a, uint64_t bytes)
{
    pthread_mutex_lock(&a->lock);
    must(a->taken >= bytes);
    a->taken -= bytes;
    account_measure(a);
    pthread_mutex_unlock(&a->lock);
}

bool disk_account_has(struct disk_account *a, uint64_t bytes, uint64_t kept_each)
{
    pthread_mutex_lock(&a->lock);
    const bool has = account_has(a, bytes, kept_each);
    pthread_mutex_unlock(&a->lock);
    return has;
}
