// dataset/parquet_file.hpp: every column through every reader.
#include "dataset/parquet_file.hpp"

#include <array>
#include <numeric>

#include "fuzz_target.hpp"

using namespace lerobot;
using dataset::ParquetFile;

namespace {

// Rows of two numbers, as an action's.
void read_pairs(const ParquetFile& file, const std::string& column, int group) {
  constexpr std::array<int64_t, 1> kShape{2};
  const int64_t rows = file.rows_in(group);
  std::vector<int64_t> destinations(rows);
  std::iota(destinations.begin(), destinations.end(), 0);
  std::vector<float> values(rows * kShape[0]);
  file.read_numbers(column, group, {c10::kFloat, values.data(), kShape, destinations});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const auto path = folder.write("file.parquet", data, size);
  fuzz::expect_a_result_or_an_error([&] {
    const ParquetFile file(path);
    file.key_value("pandas");
    file.text_columns();
    for (const std::string& column : file.columns()) {
      const auto attempt = [](auto&& read) { fuzz::expect_a_result_or_an_error(read); };
      attempt([&] { file.read_integers(column); });
      attempt([&] { file.read_doubles(column); });
      attempt([&] { file.read_text(column); });
      attempt([&] { file.read_text_lists(column); });
      for (int group = 0; group < file.num_row_groups(); ++group) {
        attempt([&] { read_pairs(file, column, group); });
        attempt([&] { file.read_bytes(column, "bytes", group, [](auto) {}); });
      }
    }
  });
  return 0;
}
