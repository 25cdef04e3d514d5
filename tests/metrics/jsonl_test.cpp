#include "lerobot/metrics/jsonl.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/fault_injection_file_system.hpp"
#include "support/temporary_directory.hpp"

namespace lerobot::metrics {
namespace {

TEST(JsonlWriter, AppendsOneObjectALineAndMakesTheFolderOnlyWhenWriting) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "run" / "metrics.jsonl";
  for (int step = 1; step <= 2; ++step) {
    JsonlWriter writer(local_file_system(), path);
    if (step == 1) {
      EXPECT_FALSE(std::filesystem::exists(path.parent_path()));
    }
    writer.write({{"step", step}, {"loss", 1e-5}});
  }
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "{\"step\": 1, \"loss\": 1e-05}\n{\"step\": 2, \"loss\": 1e-05}\n");
}

TEST(JsonlWriter, OpensTheFileAnewAfterAFailure) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "metrics.jsonl";
  testing_support::FaultInjectionFileSystem files;
  JsonlWriter writer(files, path);
  writer.write({{"step", 1}});
  files.inject(testing_support::Fault::kError, files.operations());
  EXPECT_THROW(writer.write({{"step", 2}}), FileSystemError);
  std::filesystem::remove(path);  // what the old handle would write to is out of sight
  writer.write({{"step", 3}});
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "\n{\"step\": 3}\n");
}

TEST(DropRecordsAfter, KeepsWhatTheCheckpointKnows) {
  const testing_support::TemporaryDirectory directory;
  const auto path = directory.path() / "metrics.jsonl";
  std::ofstream(path) << "{\"step\": 1}\na note\n{\"step\": 2}\n{\"step\": 3}\n{\"step\": 2, \"lo";
  drop_records_after(local_file_system(), path, 2);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "{\"step\": 1}\na note\n{\"step\": 2}\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(DropRecordsAfter, DoesNothingWithoutAFile) {
  const testing_support::TemporaryDirectory directory;
  drop_records_after(local_file_system(), directory.path() / "metrics.jsonl", 2);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace lerobot::metrics
