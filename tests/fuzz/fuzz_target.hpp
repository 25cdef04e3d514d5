// What the fuzz targets share: the input as a file, and the rule that a reader may refuse but not fail.
//
// Each target hands the bytes of one input to one public reader. Refusing them with a lerobot::Error is right; any
// other exception, a sanitizer's finding, a leak, a large allocation or a hang ends the run and leaves the input
// behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "lerobot/core/error.hpp"
#include "lerobot/core/log.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::fuzz {

// Any exception but lerobot::Error leaves this, which ends the program.
template <class Reader>
void expect_a_result_or_an_error(Reader&& reader) {
  try {
    reader();
  } catch (const Error&) {
  }
}

// A folder of its own for the life of the program (TMPDIR=/dev/shm keeps it in memory). Log lines are dropped.
class Folder {
 public:
  Folder() {
    log::set_line_writer([](std::string_view) {});
  }

  const std::filesystem::path& path() const { return directory_.path(); }

  // Writes the file anew, and the folders above it when they are not there.
  std::filesystem::path write(const std::filesystem::path& name, const uint8_t* data, size_t size) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return file;
  }

 private:
  testing_support::TemporaryDirectory directory_;
};

}  // namespace lerobot::fuzz
