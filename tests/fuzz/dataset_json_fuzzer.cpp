// dataset/metadata.hpp: meta/info.json and meta/stats.json. The input is an object with both, {"info":…, "stats":…};
// the Parquet files beside them are those of a small dataset.
#include <torch/types.h>

#include "fuzz_target.hpp"
#include "lerobot/core/json.hpp"
#include "lerobot/dataset/metadata.hpp"

using namespace lerobot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  static const bool is_copied = [] {
    const std::filesystem::path root = std::filesystem::path(LEROBOT_TEST_DATA) / "datasets" / "sample_dataset_env";
    std::filesystem::copy(root, folder.path(), std::filesystem::copy_options::recursive);
    return true;
  }();
  (void)is_copied;
  fuzz::expect_a_result_or_an_error([&] {
    const Json input = parse_json({reinterpret_cast<const char*>(data), size}, "input");
    for (const char* name : {"info", "stats"}) {
      const std::string text = to_python_json(input.is_object() && input.contains(name) ? input[name] : Json());
      folder.write(std::string("meta/") + name + ".json", reinterpret_cast<const uint8_t*>(text.data()), text.size());
    }
    dataset::Metadata metadata = dataset::load_metadata(folder.path(), "fuzz/dataset", "m");
    for (const dataset::Episode& episode : metadata.episodes) {
      metadata.data_file(episode);
      for (const auto* camera : metadata.info.cameras())
        if (camera->is_video()) metadata.video_file(episode, camera->name);
    }
    if (metadata.stats) {
      dataset::warn_about_camera_stats(*metadata.stats, metadata.info);
      dataset::apply_imagenet_stats(*metadata.stats, metadata.info);
    }
    dataset::policy_features(metadata.info);
  });
  return 0;
}
