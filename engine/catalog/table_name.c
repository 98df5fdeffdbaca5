/* table_name.c - names of tables and key attributes. */
#include "engine/catalog/table_name.h"

#include "base/limits.h"

bool table_name_is_valid(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i], letter = c | 0x20;
        if ((letter < 'a' || letter > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' &&
            c != '.')
            return false;
    }
    return name.size > 0 && name.size <= TABLE_NAME_SIZE_MAX;
}

bool key_name_is_valid(struct slice name)
{
    return name.size <= KEY_NAME_SIZE_MAX && slice_is_utf8(name);
}
