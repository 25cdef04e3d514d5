// What gym_pusht 0.1.8 does (tests/data/pusht): pymunk 6.11.1, pygame 2.6.1, OpenCV 4.14, numpy 2.2, gymnasium 1.4, on
// x86-64 without fused multiply-add.
//   trajectories/  episodes under recorded actions. "digests": one a state, of the reset's and of each step's, the
//   CRC-32
//                  of 30 float64: agent x, y, vx, vy; block x, y, angle, vx, vy, w; the 5 numbers of obs_type "state";
//                  the 16 keypoints. "substeps" (of some): the first 10 of these after every physics step. "pictures":
//                  CRC-32 of the RGB bytes: raw512 the surface, obs96 the observation, vis384 and vis680 render().
//   pictures/      some of these pictures
//   resets.json    obs_type "state" after four resets in a row, the first one with a seed
//   coverage.json  x, y, angle, coverage (shapely's)
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lerobot/env/observation.hpp"
#include "lerobot/env/pusht.hpp"

namespace lerobot::env {

// Whether this machine's Chipmunk computes as the one that made the numbers did: a library compiled with fused
// multiply-add rounds differently, and the T's path diverges from the first contact on.
#if defined(__x86_64__)
inline constexpr bool kChipmunkIsBitExact = true;
#else
inline constexpr bool kChipmunkIsBitExact = false;
#endif

struct GoldenPictures {
  int64_t step = 0;                         // after how many steps
  std::map<std::string, uint32_t> digests;  // raw512, obs96, vis384, some vis680
};

struct GoldenTrajectory {
  std::string name;
  uint64_t seed = 0;
  std::optional<std::array<double, 5>> reset_to_state;
  std::vector<std::array<double, 2>> actions;
  std::vector<double> rewards;
  std::vector<int64_t> n_contacts;
  std::optional<int64_t> terminated_at;  // the last step, where it solved the task
  std::vector<uint32_t> digests;         // [steps + 1]
  std::vector<std::array<double, 10>> substeps;
  std::vector<int64_t> substep_contacts;
  std::vector<GoldenPictures> pictures;
};

std::filesystem::path golden_pusht_folder();
nlohmann::json read_golden_pusht(const std::string& file);
std::vector<GoldenTrajectory> golden_trajectories();
Image read_golden_picture(const std::string& file);  // a PNG of pictures/

// The reset that the trajectory starts with.
ResetResult reset(PushT& environment, const GoldenTrajectory& trajectory);

uint32_t crc32(std::span<const std::byte> bytes);  // zlib's

}  // namespace lerobot::env
