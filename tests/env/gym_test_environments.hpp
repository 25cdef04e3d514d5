// The environments of tests/env/python. They need a Python with numpy; for gymnasium there is a stand-in, taken where
// that Python has none.
#pragma once

#include <filesystem>
#include <string>

#include "lerobot/env/gym_environment.hpp"

namespace lerobot::env {

// A Python 3.9 or newer with numpy: $LEROBOT_TEST_PYTHON, else the one that the programs would take. Empty: there is
// none.
std::filesystem::path python_with_numpy();
bool python_has_package(const std::string& name);

GymOptions test_options(const std::string& name, Json kwargs = Json::object());  // name: "Counter-v0"

std::unique_ptr<GymEnvironment> make_test_environment(const std::string& name, Json kwargs = Json::object());

// What trouble: a method of tests/env/python/gym_tests/envs.py's Trouble. Where: make, reset, step, render or close.
GymOptions trouble(const std::string& what, const std::string& where);

}  // namespace lerobot::env

// At the start of a test.
#define LEROBOT_NEEDS_PYTHON_WITH_NUMPY()                                                       \
  if (lerobot::env::python_with_numpy().empty()) {                                              \
    GTEST_SKIP() << "needs a Python with numpy: install one, or name its path in the variable " \
                    "LEROBOT_TEST_PYTHON";                                                      \
  }
