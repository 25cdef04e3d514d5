#include "lerobot/precision/precision.hpp"

#include <fmt/format.h>

#include "lerobot/core/error.hpp"

namespace lerobot::precision {

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp16:
      return "fp16";
    case Precision::kNo:
      break;
  }
  return "no";
}

std::optional<Precision> parse_precision(std::string_view text) {
  for (const Precision precision : {Precision::kNo, Precision::kBf16, Precision::kFp16})
    if (to_string(precision) == text) return precision;
  return std::nullopt;
}

std::optional<c10::ScalarType> autocast_dtype(Precision precision) {
  switch (precision) {
    case Precision::kBf16:
      return c10::kBFloat16;
    case Precision::kFp16:
      return c10::kHalf;
    case Precision::kNo:
      break;
  }
  return std::nullopt;
}

Precision resolve_precision(std::string_view mixed_precision, const device::DeviceTraits& traits) {
  const std::optional<Precision> precision = parse_precision(mixed_precision);
  if (!precision) {
    throw UsageError(
        fmt::format("--accelerator.mixed_precision: unknown value `{}`; accepted: no, bf16, fp16", mixed_precision));
  }
  const std::optional<c10::ScalarType> dtype = autocast_dtype(*precision);
  const auto refusal = dtype ? device::refuse_autocast(traits, *dtype) : std::nullopt;
  if (refusal) {
    const std::string name = traits.name.empty() ? "" : fmt::format(" ({})", traits.name);
    throw UsageError(fmt::format("--accelerator.mixed_precision={}: this run is on {}{}: {}; {}.", mixed_precision,
                                 traits.device.str(), name, refusal->reason, refusal->way_out));
  }
  return *precision;
}

Precision resolve_precision(std::string_view mixed_precision, c10::Device device) {
  return resolve_precision(mixed_precision, device::traits_of(device));
}

}  // namespace lerobot::precision
