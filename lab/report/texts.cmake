# Writes files as C arrays: cmake -DOUT=FILE "-DTEXTS=NAME=FILE;NAME=FILE" -P texts.cmake
# A file that is "-" becomes an empty text.
set(arrays "")
set(table "")
foreach(text ${TEXTS})
    string(REGEX MATCH "^([a-z0-9_]+)=(.*)$" all "${text}")
    set(name ${CMAKE_MATCH_1})
    set(bytes "")
    if(NOT CMAKE_MATCH_2 STREQUAL "-")
        file(READ ${CMAKE_MATCH_2} hex HEX)
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    endif()
    string(APPEND arrays "static const uint8_t text_${name}[] = {${bytes}0};\n")
    string(APPEND table "    {text_${name}, sizeof text_${name} - 1}, /* ${name} */\n")
endforeach()
file(WRITE ${OUT} "/* Written by lab/report/texts.cmake. */\n#include \"lab/report/texts.h\"\n\n${arrays}\n"
    "const struct slice report_texts[REPORT_TEXTS] = {\n${table}};\n")
