#include <cstring>

#include <jansson.h>

static size_t visit(json_t *v)
{
    size_t visited = 0;
    if (json_is_string(v)) {
        visited = json_string_length(v);
    } else if (json_is_array(v)) {
        for (size_t i = 0; i < json_array_size(v); i++)
            visited += visit(json_array_get(v, i));
    } else if (json_is_object(v)) {
        for (void *i = json_object_iter(v); i != nullptr; i = json_object_iter_next(v, i))
            visited += std::strlen(json_object_iter_key(i)) + visit(json_object_iter_value(i));
    }
    return visited;
}

size_t jansson_parse_and_visit(const char *text, size_t size);

size_t jansson_parse_and_visit(const char *text, size_t size)
{
    json_error_t error;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    size_t visited = root == nullptr ? 0 : visit(root);
    json_decref(root);
    return visited;
}
