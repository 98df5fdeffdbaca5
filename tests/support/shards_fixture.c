/* shards_fixture.c - puts items into shards, and has them moved, as routers and the catalog do. */
#include "tests/support/shards_fixture.h"

#include "base/config.h"
#include "engine/item/storage_key.h"
#include "engine/message/move_messages.h"
#include "engine/message/transaction_messages.h"
#include "tests/check.h"

void shards_init(struct shards_fixture *s)
{
    *s = (struct shards_fixture){.key_sharding_version = VERSION};
    lone_init(&s->w, PROFILE_OFF);
    s->w.collections = 1;
}

void shards_open(struct shards_fixture *s)
{
    shards_init(s);
    lone_open_table(&s->w, 100, 100);
}

void shards_close(struct shards_fixture *s)
{
    lone_deinit(&s->w);
    buffer_deinit(&s->key);
    buffer_deinit(&s->indexes);
    buffer_deinit(&s->globals);
}

void shards_pass(struct shards_fixture *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        lone_pass(&s->w, 1);
        lone_write_all(&s->w);
        while (s->w.touch_count > 0)
            lone_touch_end(&s->w, 0);
    }
}

enum reply_code shards_finish(struct shards_fixture *s)
{
    for (int ms = 0; s->w.answer_count == 0; ms++) {
        assert_true(ms < 60000);
        lone_write_all(&s->w);
        if (s->w.answer_count == 0)
            shards_pass(s, 1);
    }
    return lone_answer(&s->w)->code;
}

enum reply_code shards_send(struct shards_fixture *s, const struct request *r)
{
    struct request copy = *r;
    lone_send(&s->w, &copy);
    return shards_finish(s);
}

void shards_update(struct shards_fixture *s, uint32_t partition, uint64_t key_sharding_version)
{
    struct partition_info info =
        partitions_find(&s->w.node->partitions, s->w.table.partitions[partition].id)->info;
    info.key_sharding_version = key_sharding_version;
    info.indexes_version = 100 + ++s->updates;
    lone_update_partition(&s->w, &info);
}

void shards_notify_applied(struct shards_fixture *s, uint32_t partition,
                           uint64_t key_sharding_version)
{
    shards_update(s, partition, key_sharding_version);
    assert_int_equal(lone_answer(&s->w)->code, REPLY_OVERLOADED); /* it is on its way */
    shards_pass(s, 20);
}

struct slice shards_key(struct shards_fixture *s, uint32_t name, uint32_t shard)
{
    lone_key(&s->w, name);
    buffer_set(&s->key, buffer_slice(&s->w.key));
    key_shard_put(s->key.data, key_shard_bare_hash(buffer_slice(&s->key)), shard);
    return buffer_slice(&s->key);
}

uint32_t shards_owner(struct shards_fixture *s, uint32_t name, uint32_t shards)
{
    return key_shard_owner(shards_key(s, name, 0), shards);
}

uint32_t shards_mover(struct shards_fixture *s, uint32_t shards)
{
    uint32_t name = 1;
    while (shards_owner(s, name, shards) == 0)
        name++;
    return name;
}

struct request shards_request(struct shards_fixture *s, enum request_op op, struct slice key)
{
    const struct partition_info *p = table_partition_of(&s->w.table, key);
    return (struct request){.op = op,
                            .partition = p->id,
                            .epoch = p->epoch,
                            .key_sharding_version = s->key_sharding_version};
}

enum reply_code shards_put(struct shards_fixture *s, uint32_t name, uint32_t shard,
                           uint32_t version)
{
    const struct slice key = shards_key(s, name, shard);
    struct request r = shards_request(s, REQUEST_PUT, key);
    r.write.key = key;
    r.write.item = lone_item(&s->w, version, 10);
    return shards_send(s, &r);
}

uint32_t shards_get(struct shards_fixture *s, uint32_t name, uint32_t shard)
{
    const struct slice key = shards_key(s, name, shard);
    struct request r = shards_request(s, REQUEST_GET, key);
    r.get.key = key;
    r.get.consistent = true;
    assert_int_equal(shards_send(s, &r), REPLY_OK);
    return answer_version(lone_answer(&s->w));
}

uint32_t shards_places(struct shards_fixture *s, uint32_t name)
{
    uint32_t places = 0;
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        places += shards_get(s, name, shard) != 0;
    return places;
}

struct request shards_moving(struct shards_fixture *s, uint32_t name, uint32_t shard,
                             uint32_t shards)
{
    const struct slice key = shards_key(s, name, shard);
    struct request r = shards_request(s, REQUEST_KEY_SHARD_MOVE, key);
    request_edit_move(&r)->key = key;
    request_edit_move(&r)->shards = shards;
    return r;
}

enum reply_code shards_move(struct shards_fixture *s, uint32_t name, uint32_t shard,
                            uint32_t shards)
{
    const struct request r = shards_moving(s, name, shard, shards);
    return shards_send(s, &r);
}

void shards_move_surely(struct shards_fixture *s, uint32_t name, uint32_t shard, uint32_t shards)
{
    enum reply_code code;
    for (int i = 0; (code = shards_move(s, name, shard, shards)) != REPLY_OK; i++) {
        assert_true(i < 2000);
        assert_true(code == REPLY_OVERLOADED || code == REPLY_LOCKED);
        shards_pass(s, 20);
    }
}

void shards_split(struct shards_fixture *s)
{
    lone_split_table(&s->w);
    shards_pass(s, 500);
    lone_fetch_table(&s->w);
    assert_int_equal(s->w.table.partition_count, 2);
}

bool shards_is_upper(struct shards_fixture *s, uint32_t shard)
{
    return (shards_key(s, 0, shard).data[4] & 0x80) != 0;
}

uint32_t shards_mover_to(struct shards_fixture *s, bool other)
{
    const bool upper = shards_is_upper(s, 0);
    for (uint32_t name = 1;; name++) {
        const uint32_t owner = shards_owner(s, name, SHARDS);
        if (owner != 0 && (shards_is_upper(s, owner) != upper) == other)
            return name;
    }
}

void shards_index_by_version(struct shards_fixture *s, bool local)
{
    s->all[0] = (struct index){.number = local,
                               .name = slice_of("by-v"),
                               .partition_count = 1,
                               .sort_count = local,
                               .projection = PROJECT_ALL};
    s->all[0].keys[0] =
        (struct key_attr){slice_of(local ? "id" : "v"), local ? ATTR_STRING : ATTR_BINARY};
    s->all[0].keys[1] = (struct key_attr){slice_of("v"), ATTR_BINARY};
    s->set = (struct index_set){
        {slice_of("id"), ATTR_STRING}, {slice_of("n"), ATTR_STRING}, 1, local, s->all};
    index_set_encode(&s->indexes, &s->set);
    s->w.indexes = buffer_slice(&s->indexes);
}

void shards_part_deinit(struct shards_part *t)
{
    buffer_deinit(&t->anchor);
    buffer_deinit(&t->bytes);
}

struct request shards_part_request(struct shards_fixture *s, struct shards_part *t, uint32_t name,
                                   uint32_t shard)
{
    *t = (struct shards_part){.token = {7}};
    buffer_set(&t->anchor, shards_key(s, name, shard));
    t->part = (struct transaction_part){.id = {1, 1},
                                        .anchor = buffer_slice(&t->anchor),
                                        .token = slice_make(t->token, sizeof t->token)};
    transaction_part_walk(&(struct codec){.out = &t->bytes}, &t->part);
    struct request r = shards_request(s, REQUEST_PUT, t->part.anchor);
    r.write.key = t->part.anchor;
    r.write.item = lone_item(&s->w, OLD, 10);
    r.write.transaction = buffer_slice(&t->bytes);
    return r;
}

struct request shards_part_decide(struct shards_fixture *s, const struct shards_part *t)
{
    struct request r = shards_request(s, REQUEST_TRANSACT_DECIDE, t->part.anchor);
    *request_edit_transaction(&r) = (struct request_transaction){
        .key = t->part.anchor, .id_high = 1, .id_low = 1, .token = t->part.token};
    return r;
}
