#include "golden_pusht.hpp"

#include <png.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace lerobot::env {
namespace {

using nlohmann::json;

template <typename Value>
std::vector<Value> optional_list(const json& object, const std::string& key) {
  return object.value(key, std::vector<Value>{});
}

GoldenTrajectory read_trajectory(const std::string& name) {
  const json file = read_golden_pusht("trajectories/" + name + ".json");
  GoldenTrajectory trajectory;
  trajectory.name = name;
  trajectory.seed = file.at("seed");
  if (!file.at("reset_to_state").is_null()) trajectory.reset_to_state = file["reset_to_state"];
  for (const auto& [x, y] : file.at("actions").get<std::vector<std::array<double, 2>>>()) {
    trajectory.actions.push_back({static_cast<float>(x), static_cast<float>(y)});
  }
  trajectory.rewards = file.at("rewards").get<std::vector<double>>();
  trajectory.n_contacts = file.at("n_contacts").get<std::vector<int64_t>>();
  if (!file.at("terminated_at").is_null()) trajectory.terminated_at = file["terminated_at"].get<int64_t>();
  trajectory.digests = file.at("digests").get<std::vector<uint32_t>>();
  trajectory.substeps = optional_list<std::array<double, 10>>(file, "substeps");
  trajectory.substep_contacts = optional_list<int64_t>(file, "substep_contacts");
  for (const json& entry : file.at("pictures")) {
    GoldenPictures pictures{.step = entry.at("step"), .digests = {}};
    for (const auto& [kind, digest] : entry.items()) {
      if (kind != "step") pictures.digests[kind] = digest;
    }
    trajectory.pictures.push_back(std::move(pictures));
  }
  return trajectory;
}

constexpr std::array<uint32_t, 256> crc32_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1U) ? 0xedb88320U : 0U);
    table[byte] = remainder;
  }
  return table;
}

}  // namespace

std::filesystem::path golden_pusht_folder() {
  return std::filesystem::path(LEROBOT_TEST_DATA) / "pusht";
}

json read_golden_pusht(const std::string& file) {
  std::ifstream stream(golden_pusht_folder() / file);
  if (!stream) throw std::runtime_error("cannot read " + file);
  return json::parse(stream);
}

std::vector<GoldenTrajectory> golden_trajectories() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_pusht_folder() / "trajectories")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  std::vector<GoldenTrajectory> trajectories;
  for (const std::string& name : names) trajectories.push_back(read_trajectory(name));
  return trajectories;
}

Image read_golden_picture(const std::string& file) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, (golden_pusht_folder() / "pictures" / file).c_str())) {
    throw std::runtime_error("cannot read " + file + ": " + png.message);
  }
  png.format = PNG_FORMAT_RGB;
  Image image{png.width, png.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(png))};
  if (!png_image_finish_read(&png, nullptr, image.rgb.data(), 0, nullptr)) {
    throw std::runtime_error("cannot read " + file + ": " + png.message);
  }
  return image;
}

ResetResult reset(PushT& environment, const GoldenTrajectory& trajectory) {
  if (trajectory.reset_to_state) return environment.reset_to_state(*trajectory.reset_to_state, trajectory.seed);
  return environment.reset(trajectory.seed);
}

uint32_t crc32(std::span<const std::byte> bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc32_table();
  uint32_t remainder = ~0U;
  for (const std::byte byte : bytes) {
    remainder = (remainder >> 8) ^ kTable[(remainder ^ std::to_integer<uint32_t>(byte)) & 0xffU];
  }
  return ~remainder;
}

}  // namespace lerobot::env
