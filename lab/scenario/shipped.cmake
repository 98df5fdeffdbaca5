# Writes scenario files as C arrays: cmake -DOUT=FILE -DFILES=LIST -P shipped.cmake
set(texts "")
set(table "")
foreach(file ${FILES})
    get_filename_component(name ${file} NAME_WLE)
    string(REGEX REPLACE "^[0-9]+-" "" name ${name})
    string(MAKE_C_IDENTIFIER ${name} id)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND texts "static const uint8_t text_${id}[] = {${bytes}};\n")
    string(APPEND table "    {\"${name}\", {text_${id}, sizeof text_${id}}},\n")
endforeach()
foreach(name baselines replay)
    file(READ ${PARTS}/${name}.yaml hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND texts "static const uint8_t part_${name}[] = {${bytes}};\n"
        "const struct slice lab_${name} = {part_${name}, sizeof part_${name}};\n")
endforeach()
file(WRITE ${OUT} "/* Written by lab/scenario/shipped.cmake. */\n#include \"lab/scenario/shipped.h\"\n\n${texts}\n"
    "const struct lab_shipped lab_shipped[] = {\n${table}};\n"
    "const size_t lab_shipped_count = sizeof lab_shipped / sizeof lab_shipped[0];\n")
