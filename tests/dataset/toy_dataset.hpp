// Small LeRobotDatasets made on the spot, to be bent in every way that a real one might be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lerobot/core/json.hpp"
#include "lerobot/dataset/metadata.hpp"
#include "support/temporary_directory.hpp"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace lerobot::testing_support {

using ArrowColumn = std::shared_ptr<arrow::Array>;
// Columns of one Parquet file, in order.
using Columns = OrderedMap<ArrowColumn>;

// Arrow columns from JSON rows: numbers, nested lists, strings, null, {"bytes": …, "path": …}.
ArrowColumn arrow_column(const std::shared_ptr<arrow::DataType>& type, const Json& rows);
// {bytes, path} rows; nullopt: null.
ArrowColumn image_column(const std::vector<std::optional<std::string>>& bytes,
                         const std::vector<std::optional<std::string>>& paths);

void write_parquet(const std::filesystem::path& path, const Columns& columns, int64_t rows_per_group,
                   const std::optional<std::string>& pandas_metadata = std::nullopt);

// A valid dataset: observation.state [2] and action [2] with state[i] = {i, -i}, action[i] = {10 i, 0.5} for frame i,
// fps 10, tasks "push" (0) and "pull" (1) alternating by episode. Change the members, then write().
class ToyDataset {
 public:
  explicit ToyDataset(std::vector<int64_t> lengths = {5, 3, 4});

  // Declares a feature and gives its rows (one for each frame).
  void add_feature(const std::string& name, const std::string& dtype, const Json& shape, ArrowColumn rows);
  int64_t frames() const;

  Json info;
  Columns data;
  Columns episodes;
  Columns tasks;
  std::optional<Json> stats = Json::object();
  std::optional<std::string> tasks_pandas;  // the "pandas" key of tasks.parquet
  std::vector<int64_t> data_files;          // rows of each data file; empty: one file
  int64_t rows_per_group = 4;

  const std::filesystem::path& root() const { return directory_.path(); }
  void write() const;
  dataset::Metadata load() const;  // write() and load_metadata()

 private:
  TemporaryDirectory directory_;
  std::vector<int64_t> lengths_;
};

}  // namespace lerobot::testing_support
