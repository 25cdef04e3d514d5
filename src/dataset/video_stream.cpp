#include "video_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "lerobot/core/error.hpp"

namespace lerobot::dataset {
namespace {

// Why a file cannot even be opened, or "" when it can.
std::string reason_unreadable(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    return "does not exist; download the dataset's videos, or choose its episodes with --dataset.episodes";
  }
  if (!std::filesystem::is_regular_file(status)) return "is not a regular file";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fmt::format("cannot be read: permission denied; run `chmod u+r '{}'`", file.string());
  std::string head(40, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (stream.gcount() == 0) return "is empty";
  if (head.starts_with("version https://git-lfs")) {
    return "is a Git LFS pointer and not the video; run `git lfs pull` in the dataset's folder";
  }
  return "";
}

const AVCodec* find_software_decoder(AVCodecID id) {
  // FFmpeg's own "av1" decoder only works with a graphics card.
  if (id == AV_CODEC_ID_AV1) {
    for (const char* name : {"libdav1d", "libaom-av1"}) {
      if (const AVCodec* codec = avcodec_find_decoder_by_name(name)) return codec;
    }
    return nullptr;
  }
  return avcodec_find_decoder(id);
}

int64_t timestamp_of(const AVFrame& frame) {
  return frame.best_effort_timestamp != AV_NOPTS_VALUE ? frame.best_effort_timestamp : frame.pts;
}

// |a - b| as LeRobot computes it: both as float32.
float distance(double a, double b) {
  return std::abs(static_cast<float>(a) - static_cast<float>(b));
}

}  // namespace

VideoStream::VideoStream(std::filesystem::path file, AtomicVideoCounters& counters)
    : file_(std::move(file)),
      counters_(counters),
      packet_(av_packet_alloc()),
      incoming_(av_frame_alloc()),
      current_(av_frame_alloc()),
      previous_(av_frame_alloc()) {
  open_container();
  check_complete();
  open_decoder();
  ++counters_.opened;
}

void VideoStream::open_container() {
  if (const std::string reason = reason_unreadable(file_); !reason.empty()) {
    throw UsageError(fmt::format("video file {} {}", file_.string(), reason));
  }
  AVFormatContext* context = nullptr;
  // "file:" keeps a colon in the path from being read as a protocol.
  int code = avformat_open_input(&context, ("file:" + file_.string()).c_str(), nullptr, nullptr);
  if (code < 0) {
    throw UsageError(
        fmt::format("video file {} is not a readable video ({}); it may be cut short (an mp4 whose end is "
                    "missing has lost its index) or only partly downloaded",
                    file_.string(), ffmpeg::error_text(code)));
  }
  format_.reset(context);
  code = avformat_find_stream_info(context, nullptr);
  const int index = code < 0 ? code : av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0) throw UsageError(fmt::format("video file {} holds no video track", file_.string()));
  for (unsigned i = 0; i < context->nb_streams; ++i) {
    context->streams[i]->discard = static_cast<int>(i) == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
  stream_ = context->streams[index];
}

void VideoStream::check_complete() const {
  int64_t promised = 0;
  for (int i = 0; i < avformat_index_get_entries_count(stream_); ++i) {
    const AVIndexEntry* entry = avformat_index_get_entry(stream_, i);
    promised = std::max(promised, entry->pos + entry->size);
  }
  const auto present = static_cast<int64_t>(std::filesystem::file_size(file_));
  if (promised > present) {
    throw UsageError(
        fmt::format("video file {} is cut short: its index reaches to byte {}, the file ends at {}; "
                    "copy or download it again",
                    file_.string(), promised, present));
  }
}

void VideoStream::open_decoder() {
  const AVCodecParameters& parameters = *stream_->codecpar;
  const AVCodec* codec = find_software_decoder(parameters.codec_id);
  if (parameters.codec_id == AV_CODEC_ID_NONE) {
    throw UsageError(
        fmt::format("video file {} is in a codec that the installed FFmpeg does not know", file_.string()));
  }
  if (!codec) {
    const bool av1 = parameters.codec_id == AV_CODEC_ID_AV1;
    throw UsageError(fmt::format("video file {} is {}, which the installed FFmpeg cannot decode{}", file_.string(),
                                 avcodec_get_name(parameters.codec_id),
                                 av1 ? "; install an FFmpeg built with libdav1d or libaom" : ""));
  }
  decoder_.reset(avcodec_alloc_context3(codec));
  int code = avcodec_parameters_to_context(decoder_.get(), &parameters);
  decoder_->thread_count = 1;
  decoder_->pkt_timebase = stream_->time_base;
  if (code >= 0) code = avcodec_open2(decoder_.get(), codec, nullptr);
  if (code < 0) {
    throw UsageError(fmt::format("video file {}: FFmpeg's {} decoder does not open it ({})", file_.string(),
                                 codec->name, ffmpeg::error_text(code)));
  }
}

double VideoStream::to_seconds(int64_t ticks) const {
  return static_cast<double>(ticks) * av_q2d(stream_->time_base);
}

// A frame this near to the wanted time is the nearest one: within the tolerance and a quarter of a frame.
int64_t VideoStream::slack_ticks(double tolerance_s) const {
  const int count = avformat_index_get_entries_count(stream_);
  if (count < 2) return 0;
  const int64_t span =
      avformat_index_get_entry(stream_, count - 1)->timestamp - avformat_index_get_entry(stream_, 0)->timestamp;
  const int64_t quarter_frame = span / (count - 1) / 4;
  const double tolerance = std::max(0.0, tolerance_s / av_q2d(stream_->time_base));
  return tolerance < static_cast<double>(quarter_frame) ? static_cast<int64_t>(tolerance) : quarter_frame;
}

std::optional<double> VideoStream::find(double seconds, double tolerance_s) {
  const double ticks = std::round(seconds / av_q2d(stream_->time_base));
  if (!(std::abs(ticks) < 9e18)) {
    throw UsageError(fmt::format("video file {}: {} is not a time in a video", file_.string(), seconds));
  }
  const auto target = static_cast<int64_t>(ticks);
  const int64_t slack = slack_ticks(tolerance_s);

  bool fresh = !can_continue(target, slack);
  if (fresh) seek(target + slack);
  while (!has_current_ || timestamp_of(*current_) < target - slack) {
    const bool any = advance();
    // Not every sync sample can be begun with: pictures may become whole only some frames later, and those shown before
    // an open group's key frame lean on the group before it. Then begin one sync sample earlier.
    const bool too_late = fresh && (!any || timestamp_of(*current_) > target + slack);
    if (too_late && seek_to_sync_before(start_dts_)) continue;
    if (!any) break;
    fresh = false;
  }
  if (!has_current_) return std::nullopt;
  choose_nearest(seconds);
  return to_seconds(timestamp_of(use_previous_ ? *previous_ : *current_));
}

void VideoStream::choose_nearest(double seconds) {
  use_previous_ = has_previous_ && distance(seconds, to_seconds(timestamp_of(*previous_))) <=
                                       distance(seconds, to_seconds(timestamp_of(*current_)));
}

// Whether the wanted frame is at hand or ahead, with no sync sample nearer to it than the next packet.
bool VideoStream::can_continue(int64_t target, int64_t slack) const {
  if (!positioned_ || !has_current_) return false;
  const int64_t current = timestamp_of(*current_);
  if (target < current - slack) return has_previous_ && target >= timestamp_of(*previous_) - slack;
  const int reached = av_index_search_timestamp(stream_, last_dts_, AVSEEK_FLAG_BACKWARD | AVSEEK_FLAG_ANY);
  const int sync = av_index_search_timestamp(stream_, target, AVSEEK_FLAG_BACKWARD);
  return sync <= reached + 1;
}

// Stands the decoder before the latest sync sample that is shown at or before `target`. The container seeks by decode
// time, which with reordered frames can be the sync sample after it, so the sample's own presentation time decides.
void VideoStream::seek(int64_t target) {
  int64_t request = target;
  for (;;) {
    const int code = av_seek_frame(format_.get(), stream_->index, request, AVSEEK_FLAG_BACKWARD);
    if (code < 0) {
      throw RunError(fmt::format("video file {}: no way to {:.6f} s ({})", file_.string(), to_seconds(target),
                                 ffmpeg::error_text(code)));
    }
    ++counters_.seeks;
    avcodec_flush_buffers(decoder_.get());
    positioned_ = true;
    pending_ = input_ended_ = has_current_ = has_previous_ = use_previous_ = false;
    if (!read_packet()) return;
    pending_ = true;
    start_dts_ = last_dts_;
    const int64_t shown = packet_->pts != AV_NOPTS_VALUE ? packet_->pts : packet_->dts;
    if (shown <= target) return;
    const int before = av_index_search_timestamp(stream_, start_dts_ - 1, AVSEEK_FLAG_BACKWARD);
    if (before < 0) return;
    request -= start_dts_ - avformat_index_get_entry(stream_, before)->timestamp;
  }
}

// Moves to the sync sample before the one at `dts`; false when that is the first.
bool VideoStream::seek_to_sync_before(int64_t dts) {
  const int before = av_index_search_timestamp(stream_, dts - 1, AVSEEK_FLAG_BACKWARD);
  if (before < 0) return false;
  int64_t request = avformat_index_get_entry(stream_, before)->timestamp;
  const int64_t wanted = request;
  for (;;) {
    seek(request);
    if (start_dts_ <= wanted) return true;
    request -= start_dts_ - wanted;
  }
}

// The next packet of the video track into packet_; false at the end of the file.
bool VideoStream::read_packet() {
  for (;;) {
    av_packet_unref(packet_.get());
    const int code = av_read_frame(format_.get(), packet_.get());
    if (code == AVERROR_EOF) return false;
    if (code < 0 || (packet_->flags & AV_PKT_FLAG_CORRUPT)) {
      throw RunError(fmt::format("video file {} cannot be read on after {:.6f} s: {}", file_.string(),
                                 to_seconds(last_dts_), code < 0 ? ffmpeg::error_text(code) : "damaged packet"));
    }
    if (packet_->stream_index != stream_->index) continue;
    last_dts_ = packet_->dts != AV_NOPTS_VALUE ? packet_->dts : packet_->pts;
    return true;
  }
}

void VideoStream::refuse_damage(int code) const {
  throw RunError(fmt::format("video file {} is damaged near {:.6f} s: the {} decoder reports: {}", file_.string(),
                             to_seconds(last_dts_), avcodec_get_name(decoder_->codec_id), ffmpeg::error_text(code)));
}

void VideoStream::send(const AVPacket* packet) {
  const int code = avcodec_send_packet(decoder_.get(), packet);
  if (code < 0) refuse_damage(code);
  if (packet) ++counters_.packets;
}

// Decodes the next frame in presentation order into current_; false when there is none left.
bool VideoStream::advance() {
  for (;;) {
    const int code = avcodec_receive_frame(decoder_.get(), incoming_.get());
    if (code == 0) break;
    if (code == AVERROR_EOF) return false;
    if (code != AVERROR(EAGAIN) || input_ended_) refuse_damage(code);
    if (pending_ || read_packet()) {
      pending_ = false;
      send(packet_.get());
    } else {
      send(nullptr);  // makes the decoder hand out the frames it still holds
      input_ended_ = true;
    }
  }
  ++counters_.decoded;
  std::swap(previous_, current_);
  std::swap(current_, incoming_);
  av_frame_unref(incoming_.get());
  has_previous_ = has_current_;
  has_current_ = true;
  return true;
}

void VideoStream::convert(std::span<uint8_t> out, int64_t height, int64_t width) {
  const AVFrame& frame = use_previous_ ? *previous_ : *current_;
  if (frame.height != height || frame.width != width) {
    throw UsageError(
        fmt::format("video file {} holds frames of {} x {} (height x width), but meta/info.json declares "
                    "{} x {}",
                    file_.string(), frame.height, frame.width, height, width));
  }
  if (frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT)) {
    throw RunError(fmt::format("video file {} is damaged at {:.6f} s: the {} decoder could only guess the frame",
                               file_.string(), to_seconds(timestamp_of(frame)), avcodec_get_name(decoder_->codec_id)));
  }
  converter_.convert(frame, out);
  ++counters_.converted;
}

}  // namespace lerobot::dataset
