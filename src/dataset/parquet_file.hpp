// Reading of Parquet files, column chunk by column chunk, without Arrow tables.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lerobot::dataset {

// Where the values of one row group of a numeric column go.
struct NumericTarget {
  c10::ScalarType dtype;                  // kFloat, kDouble, kLong or kBool
  void* data = nullptr;                   // rows of prod(row_shape) values
  std::span<const int64_t> row_shape;     // {1}: a scalar column
  std::span<const int64_t> destinations;  // for each row of the group, its row in `data`; below 0: not wanted
};

// One open file. Not thread-safe. Every error is a UsageError that names the file, and the column if it is about one.
// Columns are named by their top-level field, which may hold dots.
class ParquetFile {
 public:
  explicit ParquetFile(const std::filesystem::path& path);
  ~ParquetFile();
  ParquetFile(ParquetFile&&) noexcept;

  const std::filesystem::path& path() const;
  int64_t num_rows() const;
  int num_row_groups() const;
  int64_t rows_in(int row_group) const;
  std::vector<std::string> columns() const;  // top-level fields, in file order
  bool has_column(std::string_view column) const;
  std::vector<std::string> text_columns() const;  // top-level fields that hold strings
  std::optional<std::string> key_value(std::string_view key) const;

  // Numbers are converted when no value changes its meaning (floats may lose precision): a float column read as
  // integers must hold whole numbers, one read as bool 0 or 1. Rows that are null or of another shape are refused.
  void read_numbers(std::string_view column, int row_group, const NumericTarget& target) const;

  // A whole scalar column.
  std::vector<int64_t> read_integers(std::string_view column) const;
  std::vector<double> read_doubles(std::string_view column) const;
  std::vector<std::string> read_text(std::string_view column) const;
  // A whole list<string> column; null and empty lists are empty.
  std::vector<std::vector<std::string>> read_text_lists(std::string_view column) const;

  // One member of a group column, e.g. {"observation.images.cam", "bytes"}. `visit` gets each row in turn; nullopt:
  // null. The bytes live until `visit` returns.
  using VisitBytes = std::function<void(std::optional<std::span<const std::byte>>)>;
  void read_bytes(std::string_view column, std::string_view member, int row_group, const VisitBytes& visit) const;
  // Bytes of that member in a row group, before compression: near the sum of its values when few repeat.
  int64_t uncompressed_bytes(std::string_view column, std::string_view member, int row_group) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lerobot::dataset
