#include "base/config.h"
#include "base/settings.h"
#include "base/settings/admission.h"
#include "base/settings/choices.h"
#include "base/settings/control.h"
#include "base/settings/key_sharding.h"
#include "base/settings/limiter.h"
#include "base/settings/replication.h"
#include "base/settings/split.h"
#include "base/settings/storage.h"
#include "base/settings/tables.h"
#include "tests/check.h"

static struct config c;
static struct buffer text;

static int fresh(void **state)
{
    (void)state;
    config_init(&c, PROFILE_AWS);
    buffer_clear(&text);
    return 0;
}

static enum status set(const char *name, const char *value)
{
    buffer_clear(&text);
    return config_set(&c, slice_of(name), slice_of(value), &text);
}

TEST_WITH(defaults_are_the_tables, fresh, NULL)
{
    assert_int_equal(config_admission(&c)->partition_max_wcu, 1000);
    assert_int_equal(config_admission(&c)->partition_max_rcu, 3000);
    assert_int_equal(config_admission(&c)->burst_max_s, 300);
    assert_int_equal(config_storage(&c)->memtable_max_bytes, 64 * MIB);
}

TEST_WITH(an_old_name_sets_the_setting_and_is_reported, fresh, NULL)
{
    static const char NOTE[] = "the setting salting_moves_s is now called key_sharding_moves_s; "
                               "the next version drops the old name\n";
    assert_int_equal(set("key_sharding_keep_ms", "600001"), STATUS_OK);
    config_describe_renamed(&c, &text);
    assert_int_equal(text.size, 0);
    assert_int_equal(set("salting_moves_s", "17"), STATUS_OK);
    assert_int_equal(config_key_sharding(&c)->key_sharding_moves_s, 17);
    config_describe_renamed(&c, &text);
    assert_int_equal(text.size, sizeof NOTE - 1);
    assert_memory_equal(text.data, NOTE, sizeof NOTE - 1);
    assert_int_equal(set("salting_moves_s", "x"), STATUS_MALFORMED);
    assert_non_null(memmem(text.data, text.size, "key_sharding_moves_s = x", 24));
}

TEST_WITH(names_of_this_version_and_those_before_set_the_same, fresh, NULL)
{
    assert_int_equal(set("commit_tell_ms", "6"), STATUS_OK);
    assert_int_equal(config_replication(&c)->commit_notify_ms, 6);
    assert_int_equal(set("gac_forget_ms", "70001"), STATUS_OK);
    assert_int_equal(config_gac(&c)->gac_router_timeout_ms, 70001);
    assert_int_equal(set("limiter_aggregator", "0"), STATUS_OK);
    assert_int_equal(config_limiter(&c)->limiter_refresh, 0);
    assert_int_equal(set("limiter_look_ms", "77"), STATUS_OK);
    assert_int_equal(config_limiter(&c)->limiter_refresh_ms, 77);
    assert_int_equal(set("node_silent_ms", "300001"), STATUS_OK);
    assert_int_equal(config_control(&c)->node_unresponsive_ms, 300001);
    assert_int_equal(set("on_demand_promise_percent", "7"), STATUS_OK);
    assert_int_equal(config_tables(&c)->on_demand_reserved_percent, 7);
    assert_int_equal(set("silent_heartbeats", "3"), STATUS_OK);
    assert_int_equal(config_replication(&c)->unresponsive_heartbeats, 3);
    assert_int_equal(set("split_gap_ms", "1001"), STATUS_OK);
    assert_int_equal(config_split(&c)->split_gap_tolerance_ms, 1001);
    assert_int_equal(set("split_lull_ms", "101"), STATUS_OK);
    assert_int_equal(config_split(&c)->split_hold_reset_ms, 101);
    assert_int_equal(set("split_judge", "0"), STATUS_OK);
    assert_int_equal(config_split(&c)->split_by_load, 0);
    assert_int_equal(set("split_vain_factor", "9"), STATUS_OK);
    assert_int_equal(config_split(&c)->split_hold_factor, 9);
}

TEST_WITH(a_policy_is_known_by_its_former_name_and_the_new_one_is_reported, fresh, NULL)
{
    static const char NOTE[] = "the policy least-promised is now called least-reserved; "
                               "the next version drops the old name\n";
    assert_string_equal(c.relocate_policy, "least-reserved");
    assert_int_equal(set("relocate_policy", "scripted"), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text),
                    "relocate_policy = scripted: only `--profile research` lets you choose it, not "
                    "aws (`--config help` lists the settings)");
    buffer_clear(&text);
    assert_int_equal(set("profile", "research"), STATUS_OK);
    assert_int_equal(set("relocate_policy", "scripted"), STATUS_OK);
    assert_int_equal(set("relocate_policy", "least-promised"), STATUS_OK);
    assert_string_equal(c.relocate_policy, "least-reserved");
    config_describe_renamed(&c, &text);
    assert_int_equal(text.size, sizeof NOTE - 1);
    assert_memory_equal(text.data, NOTE, sizeof NOTE - 1);
    assert_int_equal(set("demand_policy", "least-promised"), STATUS_OK);
    assert_string_equal(c.demand_policy, "least-promised");
}

TEST_WITH(every_profile_chooses_its_policy, fresh, NULL)
{
    static const char *const expected[][2] = {
        {"off", "none"}, {"aws", "burst"}, {"strict", "allocation"}, {"research", "burst"}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(set("profile", expected[i][0]), STATUS_OK);
        assert_string_equal(profile_name(c.profile), expected[i][0]);
        assert_string_equal(c.partition_policy, expected[i][1]);
        bool shares = c.profile == PROFILE_AWS || c.profile == PROFILE_RESEARCH;
        assert_int_equal(config_choices(&c)->gac, shares ? GAC_LEASE : GAC_OFF);
    }
    assert_int_equal(set("profile", "AWS"), STATUS_MALFORMED);
    assert_int_equal(c.profile, PROFILE_RESEARCH);
}

TEST_WITH(whole_numbers_with_suffixes_are_read, fresh, NULL)
{
    assert_int_equal(set("burst_max_s", "0"), STATUS_OK);
    assert_int_equal(config_admission(&c)->burst_max_s, 0);
    assert_int_equal(set("memtable_max_bytes", "128MiB"), STATUS_OK);
    assert_int_equal(config_storage(&c)->memtable_max_bytes, 128 * MIB);
    assert_int_equal(set("memtable_max_bytes", "64KiB"), STATUS_OK);
    assert_int_equal(config_storage(&c)->memtable_max_bytes, 64 * KIB);
    assert_int_equal(set("memtable_max_bytes", "66kB"), STATUS_OK);
    assert_int_equal(config_storage(&c)->memtable_max_bytes, 66000);
    assert_int_equal(set("table_max_wcu", "2k"), STATUS_OK);
    assert_int_equal(config_tables(&c)->table_max_wcu, 2000);
    assert_int_equal(set("table_max_wcu", "3M"), STATUS_OK);
    assert_int_equal(config_tables(&c)->table_max_wcu, 3000000);
    assert_int_equal(text.size, 0);
}

TEST_WITH(a_refused_value_names_setting_value_and_limits_and_changes_nothing, fresh, NULL)
{
    static const char *const bad[] = {
        "", "k", "-1", "1.5", "0", "1000001", "99999999999999999999", "9999999999T", "12 ", "0x10"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(set("partition_max_wcu", bad[i]), STATUS_MALFORMED);
        assert_int_equal(config_admission(&c)->partition_max_wcu, 1000);
    }
    set("partition_max_wcu", "1000001");
    assert_slice_is(buffer_slice(&text),
                    "partition_max_wcu = 1000001: must be a whole number from 1 to 1000000 "
                    "(suffixes: k, M, G, T are powers of 1000)");
    set("memtable_max_bytes", "64k");
    assert_slice_is(buffer_slice(&text),
                    "memtable_max_bytes = 64k: must be a whole number from 65536 to 17179869184 "
                    "(suffixes: KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB of 1000)");
    assert_int_equal(config_storage(&c)->memtable_max_bytes, 64 * MIB);
    assert_int_equal(set("partition_max", "5"), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text), "partition_max = 5: no such setting");
    assert_int_equal(set("node_wcux", "5"), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text),
                    "node_wcux = 5: no such setting (did you mean `node_wcu`?)");
    assert_int_equal(set("profil", "aws"), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text), "profil = aws: no such setting (did you mean `profile`?)");
    assert_int_equal(set("profile", "fast"), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text),
                    "profile = fast: must be off, aws, aws-measured, strict or research");
}

TEST_WITH(only_research_lets_the_policy_be_chosen, fresh, NULL)
{
    assert_int_equal(set("partition_policy", "allocation"), STATUS_MALFORMED);
    assert_string_equal(c.partition_policy, "burst");
    assert_int_equal(set("profile", "research"), STATUS_OK);
    assert_int_equal(set("partition_policy", "allocation"), STATUS_OK);
    assert_string_equal(c.partition_policy, "allocation");
    assert_int_equal(set("partition_policy", "Bad Name"), STATUS_MALFORMED);
    assert_int_equal(set("partition_policy", "a-name-of-thirty-two-characters-"), STATUS_MALFORMED);
    assert_int_equal(set("profile", "strict"), STATUS_OK);
    assert_string_equal(c.partition_policy, "allocation");
}

TEST_WITH(origins_are_a_word_or_a_list, fresh, NULL)
{
    static char long_list[600];
    assert_string_equal(c.cors_origins, "loopback");
    assert_int_equal(set("cors_origins", "https://a.example, http://b.example:81"), STATUS_OK);
    assert_string_equal(c.cors_origins, "https://a.example, http://b.example:81");
    memset(long_list, 'a', sizeof long_list - 1);
    memcpy(long_list, "http://", 7);
    static const char *const BAD[] = {
        "",        "all",       "a.example", "http://a\x01", long_list,           "://",
        "http://", "http://a,", ",http://a", "http://a,b",   "http://a,,http://b"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        assert_int_equal(set("cors_origins", BAD[i]), STATUS_MALFORMED);
        assert_string_equal(c.cors_origins, "https://a.example, http://b.example:81");
    }
    assert_int_equal(set("cors_origins", "*"), STATUS_OK);
    assert_string_equal(c.cors_origins, "*");
}

TEST_WITH(names_of_the_server_are_a_list, fresh, NULL)
{
    assert_string_equal(c.host_names, "");
    assert_int_equal(set("host_names", "db.example,*.b.example"), STATUS_OK);
    assert_string_equal(c.host_names, "db.example,*.b.example");
    static const char *const BAD[] = {"a b",        "db.example:8000", "a.example,http://b.example",
                                      "[::1]",      "me@db.example",   ",,",
                                      "a.example,", ",a.example"};
    for (size_t i = 0; i < COUNT_OF(BAD); i++)
        assert_int_equal(set("host_names", BAD[i]), STATUS_MALFORMED);
    assert_string_equal(c.host_names, "db.example,*.b.example");
}

TEST_WITH(a_file_has_settings_comments_and_empty_lines, fresh, NULL)
{
    assert_int_equal(config_parse(&c,
                                  slice_of("# a node\n\nprofile = research # all free\r\n"
                                           "\tnode_wcu=500\npartition_policy = none"),
                                  &text),
                     STATUS_OK);
    assert_int_equal(c.profile, PROFILE_RESEARCH);
    assert_int_equal(config_admission(&c)->node_wcu, 500);
    assert_string_equal(c.partition_policy, "none");
    assert_int_equal(text.size, 0);
}

TEST_WITH(a_byte_order_mark_is_not_a_part_of_a_file, fresh, NULL)
{
    assert_int_equal(config_parse(&c, slice_of("\xef\xbb\xbfnode_wcu = 500\n"), &text), STATUS_OK);
    assert_int_equal(config_admission(&c)->node_wcu, 500);
}

TEST_WITH(a_files_error_starts_with_its_line, fresh, NULL)
{
    assert_int_equal(config_parse(&c, slice_of("\nnode_wcu 500\n"), &text), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text), "line 2: node_wcu 500: must be name = value");
    buffer_clear(&text);
    assert_int_equal(config_parse(&c, slice_of("no\x01pe = 5"), &text), STATUS_MALFORMED);
    assert_slice_is(buffer_slice(&text), "line 1: no?pe = 5: no such setting");
}

TEST_WITH(the_description_has_every_setting, fresh, NULL)
{
    config_describe(&c, &text);
    buffer_append_u8(&text, 0);
    const char *all = (const char *)text.data;
#define X(name, initial, min, max, help) \
    assert_non_null(strstr(all, #name)); \
    assert_non_null(strstr(all, help));
    SETTINGS_LIST(X)
#undef X
    assert_non_null(strstr(all, "aws"));
}

TEST_WITH(what_differs_is_printed_as_it_can_be_set, fresh, NULL)
{
    assert_int_equal(set("profile", "research"), STATUS_OK);
    struct config other = c;
    config_describe_changes(&c, &other, &text);
    assert_int_equal(text.size, 0);
    config_edit_storage(&c)->log_segment_bytes = 3 * MIB;
    config_edit_replication(&c)->election_ms = 77;
    config_edit_choices(&c)->dead_member = DEAD_MEMBER_ZERO;
    assert_int_equal(set("node_policy", "none"), STATUS_OK);
    config_describe_changes(&c, &other, &text);
    assert_slice_is(buffer_slice(&text), " election_ms=77 log_segment_bytes=3MiB dead_member=zero "
                                         "node_policy=none");
}

TEST_WITH(every_help_text_is_made_of_whole_sentences, fresh, NULL)
{
    static const char *const helps[] = {
#define X(name, initial, min, max, help) help,
        SETTINGS_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof helps / sizeof helps[0]; i++) {
        const char *help = helps[i];
        assert_true((help[0] >= 'A' && help[0] <= 'Z') || strncmp(help, "1: ", 3) == 0);
        assert_int_equal(help[strlen(help) - 1], '.');
        assert_null(strstr(help, ".."));
        assert_true(strlen(help) > 20);
    }
}

TEST_WITH(the_description_has_groups_and_units, fresh, NULL)
{
    config_describe(&c, &text);
    buffer_append_u8(&text, 0);
    const char *at = (const char *)text.data;
    static const char *const expected[] = {
        "\nPolicies\n",
        "\nThroughput\n  partition_max_wcu",
        " WCU ",
        "\nReplication\n",
        "\nController\n",
        "\nMerges of cold partitions\n  merge_cold_ms                      3600000      ms       ",
        "\nGlobal admission control (GAC)\n",
        "\nStorage\n  log_segment_bytes                  16MiB        bytes    8MiB to 1GiB\n",
        "\nWire\n"};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        at = strstr(at, expected[i]);
        assert_non_null(at);
    }
}

static int done(void **state)
{
    (void)state;
    buffer_deinit(&text);
    return 0;
}

FILE_FIXTURE(NULL, done)

TEST(settings_that_do_not_fit_are_refused_by_both_names)
{
    static const struct {
        const char *name, *value, *error;
    } cases[] = {
        {"heartbeat_ms", "700",
         "support_ms = 600 must be more than 1400: 2 times heartbeat_ms = 700 (one lost heartbeat "
         "would depose a leader)"},
        {"heartbeat_ms", "300", "support_ms = 600 must be more than 600: 2 times heartbeat_ms"},
        {"heartbeat_ms", "299", NULL},
        {"unresponsive_heartbeats", "6",
         "support_ms = 600 must be more than 600: unresponsive_heartbeats = 6 times heartbeat_ms = "
         "100 "
         "(other nodes would lead before routers use them)"},
        {"unresponsive_heartbeats", "5", NULL},
        {"log_segment_bytes", "512MiB", "log_max_bytes = 536870912 must be at least 1073741824: 2"},
        {"log_segment_bytes", "256MiB", NULL},
        {"log_max_bytes", "16MiB", "log_max_bytes = 16777216 must be at least 33554432: 2 times"},
        {"report_ms", "1000", "report_deadline_ms = 1000 must be more than 1000: report_ms = 1000"},
        {"follower_max_bytes", "1GiB", "log_segment_bytes = 16777216 must be at least 1073741824"},
        {"map_max_bytes", "1MiB", "map_max_bytes = 1048576 must be at least 268435456"},
        {"transaction_token_ms", "4999",
         "transaction_token_ms = 4999 must be at least 5000: request_deadline_ms"},
        {"transaction_fence_ms", "4999",
         "transaction_fence_ms = 4999 must be at least 5000: request_deadline_ms"},
        {"key_sharding_keep_ms", "599999",
         "key_sharding_keep_ms = 599999 must be at least 600000: transact"},
        {"split_fill_percent", "80",
         "split_percent = 80 must be more than 80: split_fill_percent = 80 (the pieces would be "
         "split again)"},
        {"split_fill_percent", "79", NULL},
        {"merge_fill_percent", "77",
         "split_fill_percent = 77 must be more than 77: merge_fill_percent = 77 (merged partitions "
         "would be split again)"},
        {"merge_fill_percent", "76", NULL},
        {"merge_cold_ms", "10000",
         "merge_cold_ms = 10000 must be more than 10000: split_window_ms"},
        {"merge_cold_ms", "10001", NULL},
        {"split_hold_ms", "10001", "split_window_ms = 10000 must be at least 10001: split_hold_ms"},
        {"split_hold_reset_ms", "2500",
         "split_hold_ms = 2500 must be more than 2500: split_hold_reset_ms"},
        {"heat_recent_ms", "1251", "split_hold_ms = 2500 must be at least 2502: 2 times heat_rec"},
        {"heat_half_life_ms", "2000", "heat_half_life_ms = 2000 must be at least 2500: split_hold"},
        {"adaptive_window_ms", "1000", "adaptive_window_ms = 1000 must be more than 1000: 2 times"},
        {"adaptive_calm_ms", "500", "adaptive_calm_ms = 500 must be more than 500: load_report_ms"},
        {"support_ms", "600000",
         "node_unresponsive_ms = 300000 must be more than 600000: support_ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config own;
        struct buffer error = {0};
        config_init(&own, PROFILE_AWS);
        assert_int_equal(config_check(&own, &error), STATUS_OK);
        assert_int_equal(
            config_set(&own, slice_of(cases[i].name), slice_of(cases[i].value), &error), STATUS_OK);
        enum status status = config_check(&own, &error);
        buffer_append_u8(&error, 0);
        assert_int_equal(status, cases[i].error == NULL ? STATUS_OK : STATUS_MALFORMED);
        if (cases[i].error != NULL)
            assert_non_null(strstr((const char *)error.data, cases[i].error));
        buffer_deinit(&error);
    }
}
