#include "chipmunk_quiet_start.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <latch>
#include <string>
#include <thread>

#include "lerobot/env/pusht.hpp"

namespace lerobot::env {
namespace {

constexpr int kLines = 500;

void make_environments_while_others_print() {
  std::latch start(5);  // so that they overlap
  const std::jthread printf_printer([&] {
    start.arrive_and_wait();
    for (int i = 0; i < kLines; ++i) std::printf("printf %d\n", i);
  });
  const std::jthread cout_printer([&] {
    start.arrive_and_wait();
    for (int i = 0; i < kLines; ++i) std::cout << fmt::format("cout {}\n", i);
  });
  const auto make_environment = [&] {
    start.arrive_and_wait();
    PushT().reset(0);
  };
  const std::array<std::jthread, 3> makers{std::jthread(make_environment), std::jthread(make_environment),
                                           std::jthread(make_environment)};
}

bool is_all_that_others_printed(const std::string& output) {
  const auto prints = [&](const std::string& text) { return output.find(text) != std::string::npos; };
  for (int i = 0; i < kLines; ++i) {
    if (!prints(fmt::format("printf {}\n", i)) || !prints(fmt::format("cout {}\n", i))) return false;
  }
  return !prints("Chipmunk v");
}

// A process of its own, because only the first space of a process greets.
TEST(ChipmunkQuietStartDeathTest, KeepsTheGreetingOffStdoutAndLosesNothingElse) {
#ifndef __GLIBC__
  GTEST_SKIP() << "the greeting is printed where the C library is not glibc";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    std::fflush(stdout);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // what the parent looks at
    make_environments_while_others_print();
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), testing::Truly(is_all_that_others_printed));
}

}  // namespace
}  // namespace lerobot::env
