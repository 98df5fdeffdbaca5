# Writes the shipped traces as C arrays: cmake -DOUT=FILE -DFILES=LIST -P traces.cmake
set(texts "")
set(table "")
foreach(file ${FILES})
    get_filename_component(name ${file} NAME_WLE)
    string(MAKE_C_IDENTIFIER ${name} id)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND texts "static const uint8_t trace_${id}[] = {${bytes}};\n")
    string(APPEND table "    {\"${name}\", {trace_${id}, sizeof trace_${id}}},\n")
endforeach()
file(WRITE ${OUT} "/* Written by workload/traces.cmake. */\n#include \"workload/trace_shipped.h\"\n\n${texts}\n"
    "const struct trace_shipped trace_shipped[] = {\n${table}};\n"
    "const size_t trace_shipped_count = sizeof trace_shipped / sizeof trace_shipped[0];\n")
