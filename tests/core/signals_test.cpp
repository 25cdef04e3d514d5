#include "lerobot/core/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

// Each case in a process of its own: handlers and requests belong to the process.
namespace lerobot::signals {
namespace {

using testing::ExitedWithCode;

class SignalsDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SignalsDeathTest, AStopSignalIsARequestFirst) {
  EXPECT_EXIT(
      {
        install_handlers();
        raise(SIGINT);
        std::_Exit(stop_requested() == SIGINT ? 7 : 1);
      },
      ExitedWithCode(7), "");
}

TEST_F(SignalsDeathTest, ASecondStopSignalEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        install_handlers();
        raise(SIGINT);
        raise(SIGTERM);
        std::_Exit(1);
      },
      ExitedWithCode(143), "");
}

// A closed terminal and timeout(1) send it twice.
TEST_F(SignalsDeathTest, TheSameSignalTwiceInAMomentIsOneRequest) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          install_handlers();
          raise(signal);
          raise(signal);
          std::_Exit(stop_requested() == signal ? 7 : 1);
        },
        ExitedWithCode(7), "");
  }
}

TEST_F(SignalsDeathTest, ASecondCtrlCEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        install_handlers();
        raise(SIGINT);
        raise(SIGINT);
        std::_Exit(1);
      },
      ExitedWithCode(130), "");
}

TEST_F(SignalsDeathTest, ThrowsBeforeThereIsAnythingToSave) {
  EXPECT_EXIT(
      {
        install_handlers();
        throw_if_stop_requested("too early");
        raise(SIGTERM);
        try {
          throw_if_stop_requested("before the first step");
        } catch (const Stopped& stopped) {
          std::_Exit(stopped.what() == std::string("stopped by SIGTERM before the first step") ? 7 : 1);
        }
        std::_Exit(2);
      },
      ExitedWithCode(7), "");
}

TEST_F(SignalsDeathTest, AReaderThatGoesAwayEndsNothing) {
  EXPECT_EXIT(
      {
        install_handlers();
        raise(SIGPIPE);
        std::_Exit(stop_requested() ? 1 : 7);
      },
      ExitedWithCode(7), "");
}

TEST_F(SignalsDeathTest, AskingToSaveStopsNothing) {
  EXPECT_EXIT(
      {
        install_handlers();
        raise(SIGUSR1);
        const bool was_asked = take_save_request();
        const bool is_asked_again = take_save_request();
        std::_Exit(was_asked && !is_asked_again && !stop_requested() ? 7 : 1);
      },
      ExitedWithCode(7), "");
}

TEST_F(SignalsDeathTest, WhatTheParentIgnoresStaysIgnored) {
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        install_handlers();
        raise(SIGHUP);
        std::_Exit(stop_requested() ? 1 : 7);
      },
      ExitedWithCode(7), "");
}

TEST_F(SignalsDeathTest, ThreadsStartedWhileBlockedNeverRunAHandler) {
  EXPECT_EXIT(
      {
        install_handlers();
        std::thread thread;
        {
          const BlockedInNewThreads blocked;
          thread = std::thread([] { raise(SIGTERM); });  // to that thread alone: stays pending
        }
        thread.join();
        const bool reached_it = stop_requested().has_value();
        raise(SIGTERM);
        std::_Exit(!reached_it && stop_requested() ? 7 : 1);
      },
      ExitedWithCode(7), "");
}

}  // namespace
}  // namespace lerobot::signals
