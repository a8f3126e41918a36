# edge_library(NAME [DEPS ...]): a static library of every .cpp in the current folder (not below it).
# Includes are written from the source root; DEPS are public, so the link graph is the layer graph.
function(edge_library name)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${A_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${A_DEPS})
  endif()
endfunction()

# edge_test(NAME [DEPS ...] [LABELS ...]): one GoogleTest program of every .cpp in the current folder.
# Tests run in the source root, with EDGE_INFER_BIN naming the folder of the built programs.
function(edge_test name)
  cmake_parse_arguments(A "" "" "DEPS;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gtest GTest::gtest_main)
  # Target tests_<label> builds the tests of one label, so that a sanitizer build makes no more than it runs.
  foreach(label ${A_LABELS})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    LABELS "${A_LABELS}"
    ENVIRONMENT "EDGE_INFER_BIN=${CMAKE_BINARY_DIR}/bin;${EDGE_INFER_TEST_ENVIRONMENT}")
endfunction()

# edge_fuzzer(NAME [DEPS ...]): a libFuzzer program from NAME.cpp; its corpus is tests/fuzz/corpus/NAME.
function(edge_fuzzer name)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  if(EDGE_INFER_FUZZ)
    add_executable(${name} ${name}.cpp)
    target_link_libraries(${name} PRIVATE ${A_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()
