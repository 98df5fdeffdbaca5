#include "router/operations/shapes.h"

const struct shape shape_table_name = {.kind = SHAPE_STRING,
                                       .named = true,
                                       .min = TABLE_NAME_SIZE_MIN,
                                       .min_set = true,
                                       .max = TABLE_NAME_SIZE_MAX};

const struct shape shape_plain_table_name = {.kind = SHAPE_STRING, .named = true};

const struct shape shape_string = {.kind = SHAPE_STRING};

const struct shape shape_boolean_value = {.kind = SHAPE_BOOLEAN};

const struct shape shape_anything = {.kind = SHAPE_ANYTHING};

static const struct shape ATTRIBUTE = {.kind = SHAPE_ATTRIBUTE};

const struct shape shape_attribute_map = {
    .kind = SHAPE_MAP, .java = "AttributeValue", .element = &ATTRIBUTE};

const struct shape shape_return_consumed = {.kind = SHAPE_STRING,
                                            .choices = "INDEXES, TOTAL, NONE"};

const struct shape shape_return_metrics = {.kind = SHAPE_STRING, .choices = "SIZE, NONE"};

const struct shape shape_return_values = {
    .kind = SHAPE_STRING, .choices = "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW"};

const struct shape shape_select = {
    .kind = SHAPE_STRING,
    .choices = "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES"};

const struct shape shape_limit = {.kind = SHAPE_INTEGER, .min = 1, .min_set = true, .bare = true};

const struct shape shape_name_map = {
    .kind = SHAPE_MAP, .java = "java.lang.String", .element = &shape_string};

static const struct shape UNITS = {.kind = SHAPE_LONG, .min = 1, .min_set = true};

static const struct shape_member THROUGHPUT[] = {
    {"WriteCapacityUnits", &UNITS, MEMBER_REQUIRED},
    {"ReadCapacityUnits", &UNITS, MEMBER_REQUIRED},
    {0},
};

const struct shape shape_throughput = {
    .kind = SHAPE_STRUCTURE, .java = "ProvisionedThroughput", .members = THROUGHPUT};
