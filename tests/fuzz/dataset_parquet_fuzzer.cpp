// dataset/dataset.hpp: a damaged Parquet file of a dataset. The first byte says which: the episode table, the tasks or
// the frames; the other two, and the JSON files, are those of a small dataset.
#include <array>

#include "fuzz_target.hpp"
#include "lerobot/dataset/dataset.hpp"

using namespace lerobot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path root =
      std::filesystem::path(LEROBOT_TEST_DATA) / "datasets" / "sample_dataset_env";
  constexpr std::array kFiles = {"meta/tasks.parquet", "meta/episodes/chunk-000/file-000.parquet",
                                 "data/chunk-000/file-000.parquet"};
  if (size == 0) return -1;  // not for the corpus
  // One folder for each file that may be damaged, so that only that one is written.
  static const std::array<fuzz::Folder, kFiles.size()> folders;
  static const bool are_copied = [] {
    for (const fuzz::Folder& folder : folders)
      std::filesystem::copy(root, folder.path(), std::filesystem::copy_options::recursive);
    return true;
  }();
  (void)are_copied;
  const size_t which = data[0] % kFiles.size();
  folders[which].write(kFiles[which], data + 1, size - 1);
  fuzz::expect_a_result_or_an_error([&] {
    auto metadata =
        std::make_shared<const dataset::Metadata>(dataset::load_metadata(folders[which].path(), "fuzz/set"));
    dataset::DatasetOptions options;
    options.episodes = dataset::choose_episodes(*metadata, {});
    const dataset::LeRobotDataset opened(metadata, options);
    const std::array<int64_t, 2> rows{0, opened.num_frames() - 1};
    opened.get(rows);
  });
  return 0;
}
