#include "data_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace fs = std::filesystem;

std::vector<fs::path> parquet_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& chunk : fs::directory_iterator(folder, error)) {
    std::error_code not_a_directory;
    for (const auto& file : fs::directory_iterator(chunk.path(), not_a_directory))
      if (file.path().extension() == ".parquet") files.push_back(file.path());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw UsageError(fmt::format("{}: cannot be listed: {}", folder.string(), error.message()));
  if (files.empty())
    throw UsageError(
        fmt::format("{}: no */*.parquet in it. The dataset is incomplete: download it again, or finish its "
                    "recording",
                    folder.string()));
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) { return a.string() < b.string(); });
  return files;
}

}  // namespace lerobot::dataset
