// The Parquet files of a dataset's folder.
#pragma once

#include <filesystem>
#include <vector>

namespace lerobot::dataset {

// <folder>/*/*.parquet sorted by path. Throws UsageError when there is none.
std::vector<std::filesystem::path> parquet_files(const std::filesystem::path& folder);

}  // namespace lerobot::dataset
