#include "parquet_file.hpp"

#include <arrow/util/key_value_metadata.h>
#include <c10/util/Half.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>
#include <type_traits>

#include "lerobot/core/error.hpp"
#include "parquet_values.hpp"

namespace lerobot::dataset {
namespace {

constexpr int64_t kLevelsPerRead = 16384;
constexpr int64_t kByteArraysPerRead = 64;  // images: few, since a read may hold tens of megabytes
constexpr uintmax_t kSmallFile = uintmax_t{32} << 20;
constexpr int64_t kStreamBuffer = int64_t{1} << 20;
// Far above what the columns of a dataset can be packed to (`index` alone is distinct in every row). A file that claims
// more is damaged, and would take memory without end.
constexpr uintmax_t kMostRowsPerByte = 256;

bool is_unsigned(const parquet::ColumnDescriptor& column) {
  const auto& type = column.logical_type();
  return type && type->is_int() && !static_cast<const parquet::IntLogicalType&>(*type).is_signed();
}

// Timestamps, decimals, dates and the like are stored as integers but are not numbers to train on.
bool is_number(const parquet::ColumnDescriptor& column) {
  const auto& type = column.logical_type();
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
    case parquet::Type::FLOAT:
    case parquet::Type::DOUBLE:
      return true;
    case parquet::Type::INT32:
    case parquet::Type::INT64:
      return !type || type->is_none() || type->is_int();
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return column.type_length() == 2;
    default:
      return false;
  }
}

}  // namespace

class ParquetFile::Impl {
 public:
  // Runs `action`; what Arrow and Parquet throw becomes a UsageError that names the file.
  template <class Action>
  auto guard(Action&& action) const {
    try {
      return action();
    } catch (const lerobot::Error&) {
      throw;
    } catch (const std::exception& error) {
      throw UsageError(
          fmt::format("{}: cannot be read as Parquet ({}). The file may be cut short or damaged: copy or "
                      "download it again",
                      path.string(), error.what()));
    }
  }

  explicit Impl(const std::filesystem::path& file) : path(file) {
    if (::access(path.c_str(), R_OK) != 0) {
      const std::error_code code(errno, std::generic_category());
      const bool is_missing = code == std::errc::no_such_file_or_directory;
      throw UsageError(is_missing ? fmt::format("{}: is missing. Copy or download the dataset again", path.string())
                                  : fmt::format("{}: cannot be read: {}", path.string(), code.message()));
    }
    guard([&] {
      const uintmax_t size = std::filesystem::file_size(path);
      parquet::ReaderProperties properties;
      if (size > kSmallFile) {  // else a column chunk is read at once
        properties.enable_buffered_stream();
        properties.set_buffer_size(kStreamBuffer);
      }
      reader = parquet::ParquetFileReader::OpenFile(path.string(), /*memory_map=*/false, properties);
      metadata = reader->metadata();
      check_row_counts(size);
    });
  }

  // What the footer says of rows must agree with itself: callers cut their buffers by it.
  void check_row_counts(uintmax_t file_size) const {
    int64_t left = metadata->num_rows();
    if (left < 0 || static_cast<uintmax_t>(left) / kMostRowsPerByte > file_size)
      throw parquet::ParquetException(fmt::format("{} rows in {} bytes", left, file_size));
    for (int group = 0; group < metadata->num_row_groups(); ++group) {
      const int64_t rows = metadata->RowGroup(group)->num_rows();
      if (rows < 0 || rows > left) throw parquet::ParquetException("the row groups do not add up to the rows");
      left -= rows;
    }
    if (left != 0) throw parquet::ParquetException("the row groups do not add up to the rows");
  }

  [[noreturn]] void fail(std::string_view column, const std::string& what) const {
    throw UsageError(fmt::format("{}: column `{}` {}", path.string(), column, what));
  }

  const parquet::schema::GroupNode& root() const { return *metadata->schema()->group_node(); }

  // Index of the leaf `column`, or of its member. A top-level field with other members is not what the caller expects.
  int leaf(std::string_view column, std::string_view member = {}) const {
    std::optional<int> found;
    for (int i = 0; i < metadata->num_columns(); ++i) {
      const auto parts = metadata->schema()->Column(i)->path()->ToDotVector();
      if (parts[0] != column) continue;
      if (!member.empty() && (parts.size() != 2 || parts[1] != member)) continue;
      if (found) fail(column, "holds several values where one is expected");
      found = i;
    }
    if (!found) fail(column, member.empty() ? "is missing" : fmt::format("has no member `{}`", member));
    return *found;
  }

  const parquet::ColumnDescriptor& descriptor(int leaf) const { return *metadata->schema()->Column(leaf); }

  template <class Out>
  void read_as(std::string_view column, int row_group, const NumericTarget& target) const {
    const int index = leaf(column);
    const bool has_no_sign = is_unsigned(descriptor(index));
    switch (descriptor(index).physical_type()) {
      case parquet::Type::BOOLEAN:
        return read<parquet::BooleanType, bool, Out>(column, index, row_group, target);
      case parquet::Type::FLOAT:
        return read<parquet::FloatType, float, Out>(column, index, row_group, target);
      case parquet::Type::DOUBLE:
        return read<parquet::DoubleType, double, Out>(column, index, row_group, target);
      case parquet::Type::INT32:
        return has_no_sign ? read<parquet::Int32Type, uint32_t, Out>(column, index, row_group, target)
                           : read<parquet::Int32Type, int32_t, Out>(column, index, row_group, target);
      case parquet::Type::INT64:
        return has_no_sign ? read<parquet::Int64Type, uint64_t, Out>(column, index, row_group, target)
                           : read<parquet::Int64Type, int64_t, Out>(column, index, row_group, target);
      default:
        return read<parquet::FLBAType, float, Out>(column, index, row_group, target);
    }
  }

  // Stored is the C++ type that the physical values stand for; 2-byte arrays stand for float16, widened to float.
  template <class Physical, class Stored, class Out>
  void read(std::string_view column, int index, int row_group, const NumericTarget& target) const {
    const auto& descriptor = this->descriptor(index);
    const int16_t depth = descriptor.max_repetition_level();
    const std::vector<int16_t> expected = row_levels(target.row_shape, depth);
    const auto width = static_cast<int64_t>(expected.size());
    const auto chunk = reader->RowGroup(row_group)->Column(index);
    auto& typed = static_cast<parquet::TypedColumnReader<Physical>&>(*chunk);

    const int64_t batch = std::min(kLevelsPerRead, std::ssize(target.destinations) * width + 1);
    std::vector<int16_t> definitions(batch), repetitions(batch);
    const auto values = std::make_unique<typename Physical::c_type[]>(batch);
    int64_t row = -1;
    int64_t in_row = width;
    Out* out = nullptr;
    while (typed.HasNext()) {
      int64_t values_read = 0;
      const int64_t levels = typed.ReadBatch(batch, definitions.data(), repetitions.data(), values.get(), &values_read);
      if (levels == 0) break;
      for (int64_t i = 0; i < levels; ++i) {
        if (descriptor.max_definition_level() > 0 && definitions[i] != descriptor.max_definition_level())
          fail(column, fmt::format("is null in row {} of row group {}",
                                   depth == 0 || repetitions[i] == 0 ? row + 1 : row, row_group));
        if (i >= values_read) fail_short_page(column, row_group);  // none was null so far: every level has its value
        const int16_t level = depth > 0 ? repetitions[i] : int16_t{0};
        if (level == 0) {
          if (in_row != width) fail_shape(column, row_group, row, target.row_shape);
          ++row;
          in_row = 0;
          if (row >= std::ssize(target.destinations)) fail(column, "has more rows than the row group says");
          const int64_t destination = target.destinations[row];
          out = destination < 0 ? nullptr : static_cast<Out*>(target.data) + destination * width;
        }
        if (in_row >= width || level != expected[in_row]) fail_shape(column, row_group, row, target.row_shape);
        if (out != nullptr) out[in_row] = to_out<Physical, Stored, Out>(column, row_group, row, values[i]);
        ++in_row;
      }
    }
    if (in_row != width) fail_shape(column, row_group, row, target.row_shape);
    check_count(column, row + 1, std::ssize(target.destinations));
  }

  void check_count(std::string_view column, int64_t rows, int64_t expected) const {
    if (rows != expected) fail(column, fmt::format("holds {} rows where the file says {}", rows, expected));
  }

  template <class Physical, class Stored, class Out>
  Out to_out(std::string_view column, int row_group, int64_t row, const typename Physical::c_type& value) const {
    Stored stored;
    if constexpr (std::is_same_v<Physical, parquet::FLBAType>) {
      c10::Half half;
      std::memcpy(&half, value.ptr, sizeof(half));
      stored = static_cast<float>(half);
    } else {
      stored = static_cast<Stored>(value);
    }
    if (const auto converted = convert<Out>(stored)) return *converted;
    fail(column, fmt::format("holds {} in row {} of row group {}, which is no {} as meta/info.json declares", stored,
                             row, row_group, std::is_same_v<Out, bool> ? "bool" : "int64"));
  }

  // Levels without values: what lies in the buffer there is no value of this page.
  [[noreturn]] void fail_short_page(std::string_view column, int row_group) const {
    fail(column, fmt::format("has a damaged page in row group {}: it ends before its values do", row_group));
  }

  [[noreturn]] void fail_shape(std::string_view column, int row_group, int64_t row,
                               std::span<const int64_t> shape) const {
    fail(column, fmt::format("is not of the declared shape [{}] in row {} of row group {}", fmt::join(shape, ", "), row,
                             row_group));
  }

  // Visits the levels of a column of byte arrays in a row group: (repetition, value or null).
  template <class Visit>
  void visit_byte_arrays(std::string_view column, int index, int row_group, Visit&& visit) const {
    const auto chunk = reader->RowGroup(row_group)->Column(index);
    auto& typed = static_cast<parquet::ByteArrayReader&>(*chunk);
    const int16_t full = descriptor(index).max_definition_level();
    std::vector<int16_t> definitions(kByteArraysPerRead, full), repetitions(kByteArraysPerRead, 0);
    std::vector<parquet::ByteArray> values(kByteArraysPerRead);
    while (typed.HasNext()) {
      int64_t values_read = 0;
      const int64_t levels =
          typed.ReadBatch(kByteArraysPerRead, definitions.data(), repetitions.data(), values.data(), &values_read);
      if (levels == 0) break;
      int64_t value = 0;
      for (int64_t i = 0; i < levels; ++i) {
        const bool is_present = definitions[i] == full;
        if (is_present && value >= values_read) fail_short_page(column, row_group);
        visit(repetitions[i], is_present ? &values[value] : nullptr);
        value += is_present;
      }
    }
  }

  int text_leaf(std::string_view column) const {
    const int index = leaf(column);
    if (descriptor(index).physical_type() != parquet::Type::BYTE_ARRAY) fail(column, "does not hold text");
    return index;
  }

  std::filesystem::path path;
  std::unique_ptr<parquet::ParquetFileReader> reader;
  std::shared_ptr<parquet::FileMetaData> metadata;
};

ParquetFile::ParquetFile(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
ParquetFile::~ParquetFile() = default;
ParquetFile::ParquetFile(ParquetFile&&) noexcept = default;

const std::filesystem::path& ParquetFile::path() const {
  return impl_->path;
}
int64_t ParquetFile::num_rows() const {
  return impl_->metadata->num_rows();
}
int ParquetFile::num_row_groups() const {
  return impl_->metadata->num_row_groups();
}
int64_t ParquetFile::rows_in(int row_group) const {
  return impl_->guard([&] { return impl_->metadata->RowGroup(row_group)->num_rows(); });
}

std::vector<std::string> ParquetFile::columns() const {
  std::vector<std::string> names;
  for (int i = 0; i < impl_->root().field_count(); ++i) names.push_back(impl_->root().field(i)->name());
  return names;
}

bool ParquetFile::has_column(std::string_view column) const {
  return impl_->root().FieldIndex(std::string(column)) >= 0;
}

std::vector<std::string> ParquetFile::text_columns() const {
  std::vector<std::string> names;
  for (int i = 0; i < impl_->root().field_count(); ++i) {
    const auto& field = *impl_->root().field(i);
    if (field.is_primitive() &&
        static_cast<const parquet::schema::PrimitiveNode&>(field).physical_type() == parquet::Type::BYTE_ARRAY)
      names.push_back(field.name());
  }
  return names;
}

std::optional<std::string> ParquetFile::key_value(std::string_view key) const {
  const auto& pairs = impl_->metadata->key_value_metadata();
  const int found = pairs ? pairs->FindKey(std::string(key)) : -1;
  if (found < 0) return std::nullopt;
  return pairs->value(found);
}

void ParquetFile::read_numbers(std::string_view column, int row_group, const NumericTarget& target) const {
  impl_->guard([&] {
    const auto& descriptor = impl_->descriptor(impl_->leaf(column));
    if (!is_number(descriptor))
      impl_->fail(column, fmt::format("is stored as {}, which is not a number",
                                      descriptor.logical_type() && !descriptor.logical_type()->is_none()
                                          ? descriptor.logical_type()->ToString()
                                          : parquet::TypeToString(descriptor.physical_type())));
    const bool is_scalar = target.row_shape.size() == 1 && target.row_shape[0] == 1;
    const int depth = descriptor.max_repetition_level();
    if (depth != std::ssize(target.row_shape) && !(is_scalar && depth == 0))
      impl_->fail(column, fmt::format("is stored with {} list level(s), but is declared with shape [{}]", depth,
                                      fmt::join(target.row_shape, ", ")));
    switch (target.dtype) {
      case c10::kFloat:
        return impl_->read_as<float>(column, row_group, target);
      case c10::kDouble:
        return impl_->read_as<double>(column, row_group, target);
      case c10::kBool:
        return impl_->read_as<bool>(column, row_group, target);
      default:
        return impl_->read_as<int64_t>(column, row_group, target);
    }
  });
}

namespace {

template <class Value>
std::vector<Value> read_scalars(const ParquetFile& file, std::string_view column, c10::ScalarType dtype) {
  std::vector<Value> values(file.num_rows());
  std::vector<int64_t> destinations(file.num_rows());
  std::iota(destinations.begin(), destinations.end(), 0);
  const std::array<int64_t, 1> scalar{1};
  int64_t first = 0;
  for (int group = 0; group < file.num_row_groups(); ++group) {
    const int64_t rows = file.rows_in(group);
    file.read_numbers(column, group, {dtype, values.data(), scalar, std::span(destinations).subspan(first, rows)});
    first += rows;
  }
  return values;
}

}  // namespace

std::vector<int64_t> ParquetFile::read_integers(std::string_view column) const {
  return impl_->guard([&] { return read_scalars<int64_t>(*this, column, c10::kLong); });
}

std::vector<double> ParquetFile::read_doubles(std::string_view column) const {
  return impl_->guard([&] { return read_scalars<double>(*this, column, c10::kDouble); });
}

std::vector<std::string> ParquetFile::read_text(std::string_view column) const {
  return impl_->guard([&] {
    const int index = impl_->text_leaf(column);
    if (impl_->descriptor(index).max_repetition_level() != 0) impl_->fail(column, "is a list, not text");
    std::vector<std::string> texts;
    for (int group = 0; group < num_row_groups(); ++group) {
      impl_->visit_byte_arrays(column, index, group, [&](int16_t, const parquet::ByteArray* value) {
        if (value == nullptr) impl_->fail(column, fmt::format("is null in row {}", texts.size()));
        texts.emplace_back(reinterpret_cast<const char*>(value->ptr), value->len);
      });
    }
    impl_->check_count(column, std::ssize(texts), num_rows());
    return texts;
  });
}

std::vector<std::vector<std::string>> ParquetFile::read_text_lists(std::string_view column) const {
  return impl_->guard([&] {
    const int index = impl_->text_leaf(column);
    if (impl_->descriptor(index).max_repetition_level() != 1) impl_->fail(column, "is not a list of text");
    std::vector<std::vector<std::string>> lists;
    for (int group = 0; group < num_row_groups(); ++group) {
      impl_->visit_byte_arrays(column, index, group, [&](int16_t repetition, const parquet::ByteArray* value) {
        if (repetition == 0) lists.emplace_back();
        if (lists.empty()) impl_->fail(column, "is damaged: its first row has no beginning");
        if (value != nullptr) lists.back().emplace_back(reinterpret_cast<const char*>(value->ptr), value->len);
      });
    }
    impl_->check_count(column, std::ssize(lists), num_rows());
    return lists;
  });
}

void ParquetFile::read_bytes(std::string_view column, std::string_view member, int row_group,
                             const VisitBytes& visit) const {
  impl_->guard([&] {
    const int index = impl_->leaf(column, member);
    const auto& descriptor = impl_->descriptor(index);
    if (descriptor.physical_type() != parquet::Type::BYTE_ARRAY || descriptor.max_repetition_level() != 0)
      impl_->fail(column, fmt::format("has a member `{}` that does not hold bytes", member));
    int64_t rows = 0;
    impl_->visit_byte_arrays(column, index, row_group, [&](int16_t, const parquet::ByteArray* value) {
      ++rows;
      if (value == nullptr) return visit(std::nullopt);
      visit(std::as_bytes(std::span(value->ptr, value->len)));
    });
    impl_->check_count(column, rows, rows_in(row_group));
  });
}

int64_t ParquetFile::uncompressed_bytes(std::string_view column, std::string_view member, int row_group) const {
  return impl_->guard([&] {
    const auto chunk = impl_->metadata->RowGroup(row_group)->ColumnChunk(impl_->leaf(column, member));
    const int64_t bytes = chunk->total_uncompressed_size();
    if (bytes < 0) impl_->fail(column, fmt::format("claims {} bytes in row group {}", bytes, row_group));
    return bytes;
  });
}

}  // namespace lerobot::dataset
