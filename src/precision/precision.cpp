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

Precision resolve_precision(std::string_view mixed_precision, c10::Device device) {
  const std::optional<Precision> precision = parse_precision(mixed_precision);
  if (!precision) {
    throw UsageError(
        fmt::format("--accelerator.mixed_precision: unknown value `{}`; accepted: no, bf16, fp16", mixed_precision));
  }
  if (*precision == Precision::kFp16 && device.is_cpu()) {
    throw UsageError(
        "--accelerator.mixed_precision=fp16: fp16 requires an accelerator device and this run is on the CPU; use "
        "--policy.device=cuda on a machine that has one, or --accelerator.mixed_precision=bf16 or =no");
  }
  return *precision;
}

}  // namespace lerobot::precision
