# The chart libraries of `weir lab report`, from npm, with pinned versions and checked bytes. Sets
# WEIR_CHART_LIBRARIES to the folder that holds d3.js, plot.js and LICENSES.txt, or to "" if they are
# not there and npm cannot fetch them: then weir is built without them, and `weir lab report` says so.
# docs/decisions/0030 tells why these.
set(WEIR_NPM_DIR ${CMAKE_SOURCE_DIR}/build/npm CACHE PATH "where packages from npm are kept")
set(WEIR_CHART_LIBRARIES "")

# Unpacks ${WEIR_NPM_DIR}/FILE, and fetches it before if it is not there. Sets OUT to its folder or "".
function(weir_npm_package package version file sha512 out)
    set(archive ${WEIR_NPM_DIR}/${file}-${version}.tgz)
    set(${out} "" PARENT_SCOPE)
    if(NOT EXISTS ${archive})
        find_program(WEIR_NPM npm)
        if(NOT WEIR_NPM)
            return()
        endif()
        file(MAKE_DIRECTORY ${WEIR_NPM_DIR})
        execute_process(COMMAND ${WEIR_NPM} pack --silent --ignore-scripts --fetch-retries 1
                                --pack-destination ${WEIR_NPM_DIR} ${package}@${version}
                        WORKING_DIRECTORY ${WEIR_NPM_DIR} TIMEOUT 120
                        OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
        if(failed OR NOT EXISTS ${archive})
            return()
        endif()
    endif()
    file(SHA512 ${archive} found)
    if(NOT found STREQUAL sha512)
        file(REMOVE ${archive})
        message(FATAL_ERROR "${archive} is not the ${package} ${version} that weir was tested with")
    endif()
    if(NOT EXISTS ${WEIR_NPM_DIR}/${file}-${version}/package)
        file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${WEIR_NPM_DIR}/${file}-${version})
    endif()
    set(${out} ${WEIR_NPM_DIR}/${file}-${version}/package PARENT_SCOPE)
endfunction()

weir_npm_package(d3 7.9.2 d3 
    64a6ff98e34f54acda3b952571673037c6d2e1ecef41a62ef9bb28bbe5e034005d182f34d24c07eb9d400d36db4f130f1d6d77525bdb41a7dd989403935c3b32 d3)
weir_npm_package(@observablehq/plot 0.6.17 observablehq-plot 
    fea6973ffee67383144b4b3870f3c50120d18edb16a7ce7f4db7ec722a83814d47c188b16d26dbcad36e2270fc01c4d80b7c5ac400a0557d3a6a075f432f56fa plot)
if(d3 AND plot)
    set(WEIR_CHART_LIBRARIES ${CMAKE_BINARY_DIR}/chart_libraries)
    file(MAKE_DIRECTORY ${WEIR_CHART_LIBRARIES})
    file(COPY_FILE ${d3}/dist/d3.min.js ${WEIR_CHART_LIBRARIES}/d3.js ONLY_IF_DIFFERENT)
    file(COPY_FILE ${plot}/dist/plot.umd.min.js ${WEIR_CHART_LIBRARIES}/plot.js ONLY_IF_DIFFERENT)
    file(READ ${d3}/LICENSE d3_license)
    file(READ ${plot}/LICENSE plot_license)
    file(CONFIGURE OUTPUT ${WEIR_CHART_LIBRARIES}/LICENSES.txt @ONLY CONTENT
"D3 7.9.2 (https://d3js.org), ISC:

@d3_license@
Observable Plot 0.6.17 (https://observablehq.com/plot), ISC:

@plot_license@
Observable Plot contains interval-tree-1d and binary-search-bounds, Copyright 2013-2021 Mikola
Lysenko, under the MIT License, and isoformat, Copyright 2021 Observable, Inc., under the ISC License.
")
else()
    message(STATUS "The chart libraries are not there and npm cannot fetch them: `weir lab report` "
                   "will not work in this build. Run cmake again where npm can.")
endif()
