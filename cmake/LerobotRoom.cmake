# lerobot_room(<name> SOURCES <files...> [ROOMS <rooms above...>] [LIBRARIES <other targets...>]
#              [PRIVATE_LIBRARIES <targets...>] [WITHOUT_TORCH])
# One library target a room, lerobot::<name>. A room links only rooms above it (docs/architecture.md), and what it
# does not link it cannot use: the link lines are the order of the rooms.
function(lerobot_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "WITHOUT_TORCH" "" "SOURCES;ROOMS;LIBRARIES;PRIVATE_LIBRARIES")
  add_library(lerobot_${name} STATIC ${ARG_SOURCES})
  add_library(lerobot::${name} ALIAS lerobot_${name})
  set_target_properties(lerobot_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(lerobot_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(lerobot_${name} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_ROOMS PREPEND lerobot::)
  target_link_libraries(lerobot_${name} PUBLIC ${ARG_ROOMS} ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE_LIBRARIES})
  if(ARG_WITHOUT_TORCH)
    lerobot_compile_settings(lerobot_${name} lerobot_pch_light)
  else()
    lerobot_compile_settings(lerobot_${name} lerobot_pch)
  endif()
  install(TARGETS lerobot_${name} EXPORT lerobot-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# A designated initializer leaves the rest at its defaults on purpose.
set(LEROBOT_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)

# Warnings, and the precompiled header that the target shares with others: lerobot_pch, or lerobot_pch_light for one whose
# files do without LibTorch.
function(lerobot_compile_settings target)
  target_compile_options(${target} PRIVATE ${LEROBOT_WARNINGS})
  if(LEROBOT_PCH)
    if(ARGC GREATER 1)
      target_precompile_headers(${target} REUSE_FROM ${ARGV1})
    else()
      target_precompile_headers(${target} REUSE_FROM lerobot_pch)
    endif()
  endif()
endfunction()

# lerobot_test(<room> SOURCES <files...> [LIBRARIES <targets...>]): one test program a room, its cases known to ctest.
function(lerobot_test room)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBRARIES")
  add_executable(${room}_test ${ARG_SOURCES})
  target_link_libraries(${room}_test PRIVATE lerobot_test_main ${ARG_LIBRARIES})
  target_compile_definitions(${room}_test PRIVATE LEROBOT_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  target_include_directories(${room}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  lerobot_compile_settings(${room}_test)
  gtest_discover_tests(${room}_test TEST_PREFIX "${room}/" DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
