#include "dataset/toy_dataset.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>

#include <fstream>
#include <numeric>

namespace lerobot::testing_support {
namespace {

void check(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <class Value>
Value checked(arrow::Result<Value> result) {
  check(result.status());
  return std::move(result).ValueUnsafe();
}

template <class Builder, class Value>
void append_as(arrow::ArrayBuilder& builder, const Value& value) {
  check(static_cast<Builder&>(builder).Append(value));
}

void append(arrow::ArrayBuilder& builder, const Json& value) {
  if (value.is_null()) return check(builder.AppendNull());
  switch (builder.type()->id()) {
    case arrow::Type::BOOL:
      return append_as<arrow::BooleanBuilder>(builder, value.get<bool>());
    case arrow::Type::INT8:
      return append_as<arrow::Int8Builder>(builder, value.get<int8_t>());
    case arrow::Type::INT32:
      return append_as<arrow::Int32Builder>(builder, value.get<int32_t>());
    case arrow::Type::INT64:
      return append_as<arrow::Int64Builder>(builder, value.get<int64_t>());
    case arrow::Type::UINT8:
      return append_as<arrow::UInt8Builder>(builder, value.get<uint8_t>());
    case arrow::Type::UINT32:
      return append_as<arrow::UInt32Builder>(builder, value.get<uint32_t>());
    case arrow::Type::UINT64:
      return append_as<arrow::UInt64Builder>(builder, value.get<uint64_t>());
    case arrow::Type::HALF_FLOAT:
      return append_as<arrow::HalfFloatBuilder>(builder, value.get<uint16_t>());
    case arrow::Type::FLOAT:
      return append_as<arrow::FloatBuilder>(builder, value.get<float>());
    case arrow::Type::DOUBLE:
      return append_as<arrow::DoubleBuilder>(builder, value.get<double>());
    case arrow::Type::STRING:
      return append_as<arrow::StringBuilder>(builder, value.get<std::string>());
    case arrow::Type::LIST: {
      auto& list = static_cast<arrow::ListBuilder&>(builder);
      check(list.Append());
      for (const Json& item : value) append(*list.value_builder(), item);
      return;
    }
    default:
      throw std::runtime_error("arrow_column does not make " + builder.type()->ToString());
  }
}

ArrowColumn int64s(const std::vector<int64_t>& values) {
  return arrow_column(arrow::int64(), Json(values));
}

Json feature(const std::string& dtype, const Json& shape) {
  return {{"dtype", dtype}, {"shape", shape}, {"names", nullptr}};
}

}  // namespace

ArrowColumn arrow_column(const std::shared_ptr<arrow::DataType>& type, const Json& rows) {
  auto builder = checked(arrow::MakeBuilder(type));
  for (const Json& row : rows) append(*builder, row);
  return checked(builder->Finish());
}

ArrowColumn image_column(const std::vector<std::optional<std::string>>& bytes,
                         const std::vector<std::optional<std::string>>& paths) {
  arrow::BinaryBuilder bytes_builder;
  arrow::StringBuilder paths_builder;
  for (const auto& value : bytes) check(value ? bytes_builder.Append(*value) : bytes_builder.AppendNull());
  for (const auto& value : paths) check(value ? paths_builder.Append(*value) : paths_builder.AppendNull());
  return checked(arrow::StructArray::Make({checked(bytes_builder.Finish()), checked(paths_builder.Finish())},
                                          std::vector<std::string>{"bytes", "path"}));
}

void write_parquet(const std::filesystem::path& path, const Columns& columns, int64_t rows_per_group,
                   const std::optional<std::string>& pandas_metadata) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<ArrowColumn> arrays;
  for (const auto& [name, column] : columns) {
    fields.push_back(arrow::field(name, column->type()));
    arrays.push_back(column);
  }
  auto schema = arrow::schema(fields);
  if (pandas_metadata) schema = schema->WithMetadata(arrow::key_value_metadata({"pandas"}, {*pandas_metadata}));
  std::filesystem::create_directories(path.parent_path());
  const auto file = checked(arrow::io::FileOutputStream::Open(path.string()));
  const auto properties = parquet::WriterProperties::Builder().compression(arrow::Compression::SNAPPY)->build();
  const auto kept_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  check(parquet::arrow::WriteTable(*arrow::Table::Make(schema, arrays), arrow::default_memory_pool(), file,
                                   rows_per_group, properties, kept_schema));
  check(file->Close());
}

ToyDataset::ToyDataset(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {
  const auto vectors = arrow::list(arrow::float32());
  Json state = Json::array(), action = Json::array(), timestamp = Json::array(), tasks_of = Json::array();
  std::vector<int64_t> frame_index, episode_index, index, task_index, from, to, zeros, numbers;
  for (size_t episode = 0; episode < lengths_.size(); ++episode) {
    from.push_back(std::ssize(index));
    for (int64_t frame = 0; frame < lengths_[episode]; ++frame) {
      const auto i = static_cast<int64_t>(index.size());
      state.push_back({i, -i});
      action.push_back({10 * i, 0.5});
      timestamp.push_back(static_cast<float>(static_cast<double>(frame) / 10));
      frame_index.push_back(frame);
      episode_index.push_back(static_cast<int64_t>(episode));
      index.push_back(i);
      task_index.push_back(static_cast<int64_t>(episode % 2));
    }
    to.push_back(std::ssize(index));
    zeros.push_back(0);
    numbers.push_back(static_cast<int64_t>(episode));
    tasks_of.push_back(Json::array({episode % 2 == 0 ? "push" : "pull"}));
  }
  data.set("observation.state", arrow_column(vectors, state));
  data.set("action", arrow_column(vectors, action));
  data.set("timestamp", arrow_column(arrow::float32(), timestamp));
  data.set("frame_index", int64s(frame_index));
  data.set("episode_index", int64s(episode_index));
  data.set("index", int64s(index));
  data.set("task_index", int64s(task_index));
  episodes.set("episode_index", int64s(numbers));
  episodes.set("tasks", arrow_column(arrow::list(arrow::utf8()), tasks_of));
  episodes.set("length", int64s(lengths_));
  episodes.set("data/chunk_index", int64s(zeros));
  episodes.set("data/file_index", int64s(zeros));
  episodes.set("dataset_from_index", int64s(from));
  episodes.set("dataset_to_index", int64s(to));
  tasks.set("task_index", int64s({0, 1}));
  tasks.set("task", arrow_column(arrow::utf8(), {"push", "pull"}));

  const Json scalar = {1};
  info = {{"codebase_version", "v3.0"},
          {"fps", 10},
          {"features",
           {{"observation.state", feature("float32", {2})},
            {"action", feature("float32", {2})},
            {"timestamp", feature("float32", scalar)},
            {"frame_index", feature("int64", scalar)},
            {"episode_index", feature("int64", scalar)},
            {"index", feature("int64", scalar)},
            {"task_index", feature("int64", scalar)}}},
          {"total_episodes", lengths_.size()},
          {"total_frames", frames()},
          {"total_tasks", 2},
          {"video_path", nullptr}};
}

int64_t ToyDataset::frames() const {
  return std::accumulate(lengths_.begin(), lengths_.end(), int64_t{0});
}

void ToyDataset::add_feature(const std::string& name, const std::string& dtype, const Json& shape, ArrowColumn rows) {
  info["features"][name] = feature(dtype, shape);
  data.set(name, std::move(rows));
}

void ToyDataset::write() const {
  std::filesystem::create_directories(root() / "meta");
  std::ofstream(root() / "meta" / "info.json") << info.dump(4);
  if (stats) std::ofstream(root() / "meta" / "stats.json") << stats->dump(4);
  write_parquet(root() / "meta" / "tasks.parquet", tasks, 100, tasks_pandas);
  write_parquet(root() / "meta" / "episodes" / "chunk-000" / "file-000.parquet", episodes, 2);
  int64_t first = 0;
  const auto files = data_files.empty() ? std::vector<int64_t>{frames()} : data_files;
  for (size_t i = 0; i < files.size(); ++i) {
    Columns slice;
    for (const auto& [name, column] : data) slice.set(name, column->Slice(first, files[i]));
    write_parquet(root() / "data" / "chunk-000" / fmt::format("file-{:03d}.parquet", i), slice, rows_per_group);
    first += files[i];
  }
}

dataset::Metadata ToyDataset::load() const {
  write();
  return dataset::load_metadata(root(), "toy/set");
}

}  // namespace lerobot::testing_support
