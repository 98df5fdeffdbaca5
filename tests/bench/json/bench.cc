// bench.cc - simdjson, yajl and jansson on the bodies DynamoDB clients send.
// Each library parses the body and visits every string in it, as a router must. Prints JSON.
// Build and run: the command in docs/decisions/0002-json.md.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <yajl/yajl_parse.h>

#include "router/json/json.h"

size_t jansson_parse_and_visit(const char *text, size_t size); // jansson.cc: the names collide

static size_t visited;

static void simdjson_visit(const json_value *v)
{
    struct json_value child;
    struct slice name;
    if (v->type == JSON_STRING) {
        visited += json_string(v).size;
    } else if (v->type == JSON_LIST) {
        struct json_cursor c = json_elements(v);
        while (json_next_element(&c, &child))
            simdjson_visit(&child);
    } else if (v->type == JSON_OBJECT) {
        struct json_cursor c = json_members(v);
        while (json_next_member(&c, &name, &child)) {
            visited += name.size;
            simdjson_visit(&child);
        }
    }
}

static int yajl_text(void *, const unsigned char *, size_t size)
{
    visited += size;
    return 1;
}

// {"S":"xxx"} attributes of about 40 bytes each.
static std::string item(int attributes)
{
    std::string s = "{\"id\":{\"S\":\"user#0000000001\"}";
    for (int i = 0; i < attributes; i++)
        s += ",\"attribute" + std::to_string(i) +
             (i % 3 == 0 ? "\":{\"N\":\"1234567.25\"}"
                         : "\":{\"S\":\"some text of a fair length\"}");
    return s + "}";
}

template <class Parse>
static double nanoseconds(Parse parse)
{
    using clock = std::chrono::steady_clock;
    double best = 1e18;
    for (int round = 0; round < 5; round++) {
        long runs = 0;
        auto start = clock::now();
        std::chrono::duration<double, std::nano> spent{};
        do {
            for (int i = 0; i < 50; i++)
                parse();
            runs += 50;
            spent = clock::now() - start;
        } while (spent.count() < 1e8);
        best = std::min(best, spent.count() / static_cast<double>(runs));
    }
    return best;
}

int main()
{
    std::string put = "{\"TableName\":\"users\",\"Item\":";
    std::string batch = "{\"RequestItems\":{\"users\":[";
    for (int i = 0; i < 25; i++)
        batch += std::string(i ? "," : "") + "{\"PutRequest\":{\"Item\":" + item(20) + "}}";
    std::vector<std::pair<const char *, std::string>> bodies = {
        {"GetItem", "{\"TableName\":\"users\",\"Key\":{\"id\":{\"S\":\"user#0000000001\"}}}"},
        {"PutItem 0.4 KB", put + item(8) + "}"},
        {"PutItem 4 KB", put + item(90) + "}"},
        {"BatchWriteItem 25 x 1 KB", batch + "]}}"},
    };
    struct json_parser *parser = json_parser_create();
    yajl_callbacks callbacks = {};
    callbacks.yajl_string = yajl_text;
    callbacks.yajl_map_key = yajl_text;
    std::printf("[");
    const char *comma = "";
    for (auto &[name, body] : bodies) {
        std::string padded = body + std::string(JSON_PADDING, ' ');
        const auto *bytes = reinterpret_cast<const unsigned char *>(body.data());
        double simd = nanoseconds([&] {
            struct json_value root;
            if (json_parse(parser, slice_make(padded.data(), body.size()), &root) == STATUS_OK)
                simdjson_visit(&root);
        });
        double yajl = nanoseconds([&] {
            yajl_handle h = yajl_alloc(&callbacks, nullptr, nullptr);
            yajl_parse(h, bytes, body.size());
            yajl_complete_parse(h);
            yajl_free(h);
        });
        double jansson =
            nanoseconds([&] { visited += jansson_parse_and_visit(body.data(), body.size()); });
        std::printf("%s\n {\"body\": \"%s\", \"bytes\": %zu, \"simdjson_ns\": %.0f, "
                    "\"yajl_ns\": %.0f, \"jansson_ns\": %.0f}",
                    comma, name, body.size(), simd, yajl, jansson);
        comma = ",";
    }
    std::printf("\n]\n");
    json_parser_destroy(parser);
    return visited == 0;
}
