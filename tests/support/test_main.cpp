#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lerobot/device/backends.hpp"

int main(int argc, char** argv) {
  lerobot::device::load_backends();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
