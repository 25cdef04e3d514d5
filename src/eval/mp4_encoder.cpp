#include "mp4_encoder.hpp"

#include <fmt/format.h>

extern "C" {
#include <libavutil/error.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
}

#include <string_view>

#include "lerobot/core/error.hpp"

namespace lerobot::eval {
namespace {

constexpr int kMaxSide = 16384;
// LeRobot has medium, x264's default: files are 4 % smaller and an evaluation takes a quarter longer.
constexpr const char* kX264Preset = "veryfast";
constexpr int kMpeg4Quality = 3;  // of 1 (best) to 31

std::string error_text(int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  return text;
}

int checked(int code, std::string_view what) {
  if (code < 0) throw RunError(fmt::format("{}: {}", what, error_text(code)));
  return code;
}

// Frames at whole and at odd rates (29.97) alike.
AVRational rate_of(double fps) {
  return av_d2q(fps, 100000);
}

}  // namespace

void Mp4Encoder::FreeOutput::operator()(AVFormatContext* context) const {
  if (context->pb) {
    uint8_t* bytes = nullptr;
    avio_close_dyn_buf(context->pb, &bytes);
    av_free(bytes);
  }
  avformat_free_context(context);
}

Mp4Encoder::Mp4Encoder(int64_t width, int64_t height, double fps, const std::vector<std::string>& encoders,
                       const std::function<void(std::string_view)>& warn)
    : source_width_(width),
      source_height_(height),
      width_(static_cast<int>(width / 2 * 2)),
      height_(static_cast<int>(height / 2 * 2)),
      packet_(av_packet_alloc()) {
  if (width < 2 || height < 2 || width > kMaxSide || height > kMaxSide) {
    throw RunError(fmt::format("frames of {} x {} pixels cannot be encoded", width, height));
  }
  if (!(fps > 0)) throw RunError(fmt::format("the environment's render_fps must be above 0, got {}", fps));
  if (width_ != width || height_ != height) {
    warn(fmt::format("video frames of {} x {} pixels are cut to {} x {}: H.264 with 4:2:0 colour needs even sizes",
                     width, height, width_, height_));
  }
  choose_encoder(fps, encoders, warn);
  begin_file();
  prepare_pictures();
}

Mp4Encoder::CodecContext Mp4Encoder::open(const std::string& name, int width, int height, AVRational rate,
                                          std::string& reason) {
  const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
  if (!codec) {
    reason += fmt::format("{}{} is not in it", reason.empty() ? "" : "; ", name);
    return nullptr;
  }
  CodecContext context(avcodec_alloc_context3(codec));
  context->width = width;
  context->height = height;
  context->pix_fmt = AV_PIX_FMT_YUV420P;
  context->time_base = av_inv_q(rate);
  context->framerate = rate;
  context->thread_count = 1;
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;           // mp4 keeps the parameter sets apart from the frames
  context->log_level_offset = AV_LOG_INFO - AV_LOG_ERROR;  // errors only; libx264 tells a good deal otherwise
  if (codec->id == AV_CODEC_ID_MPEG4) {
    context->flags |= AV_CODEC_FLAG_QSCALE;
    context->global_quality = FF_QP2LAMBDA * kMpeg4Quality;
  }
  if (name == "libx264") av_opt_set(context->priv_data, "preset", kX264Preset, 0);
  const int code = avcodec_open2(context.get(), codec, nullptr);
  if (code >= 0) return context;
  reason += fmt::format("{}{} does not open ({})", reason.empty() ? "" : "; ", name, error_text(code));
  return nullptr;
}

void Mp4Encoder::choose_encoder(double fps, const std::vector<std::string>& encoders,
                                const std::function<void(std::string_view)>& warn) {
  std::string reason;
  for (const std::string& name : encoders) {
    encoder_ = open(name, width_, height_, rate_of(fps), reason);
    if (!encoder_) continue;
    if (!reason.empty()) {
      warn(fmt::format("videos are encoded with {}, by this FFmpeg: {}. Install an FFmpeg with {} for LeRobot's videos",
                       name, reason, encoders.front()));
    }
    return;
  }
  throw RunError(fmt::format("this FFmpeg has no encoder for videos: {}", reason));
}

void Mp4Encoder::begin_file() {
  AVFormatContext* output = nullptr;
  checked(avformat_alloc_output_context2(&output, nullptr, "mp4", nullptr), "FFmpeg has no mp4 writer");
  output_.reset(output);
  checked(avio_open_dyn_buf(&output->pb), "no memory for the video");
  AVStream* stream = avformat_new_stream(output, nullptr);
  if (!stream) throw RunError("no memory for the video");
  stream->time_base = encoder_->time_base;
  stream->avg_frame_rate = encoder_->framerate;
  checked(avcodec_parameters_from_context(stream->codecpar, encoder_.get()), "no memory for the video");
  checked(avformat_write_header(output, nullptr), "FFmpeg does not begin the mp4");
}

void Mp4Encoder::prepare_pictures() {
  picture_.reset(av_frame_alloc());
  picture_->format = encoder_->pix_fmt;
  picture_->width = width_;
  picture_->height = height_;
  checked(av_frame_get_buffer(picture_.get(), 0), "no memory for a frame");
  scaler_.reset(sws_getContext(width_, height_, AV_PIX_FMT_RGB24, width_, height_, encoder_->pix_fmt, SWS_BILINEAR,
                               nullptr, nullptr, nullptr));
  if (!scaler_) throw RunError("libswscale cannot turn RGB into YUV 4:2:0");
}

void Mp4Encoder::add(const env::Image& image) {
  if (image.width != source_width_ || image.height != source_height_ ||
      image.rgb.size() != static_cast<size_t>(3 * image.width * image.height)) {
    throw RunError(fmt::format("frame {} is of {} x {} pixels, those before of {} x {}", frame_count_, image.width,
                               image.height, source_width_, source_height_));
  }
  checked(av_frame_make_writable(picture_.get()), "no memory for a frame");
  const uint8_t* rows[4] = {image.rgb.data(), nullptr, nullptr, nullptr};
  const int strides[4] = {static_cast<int>(3 * source_width_), 0, 0, 0};
  checked(sws_scale(scaler_.get(), rows, strides, 0, height_, picture_->data, picture_->linesize), "libswscale failed");
  picture_->pts = frame_count_++;
  encode(picture_.get());
}

// Null: no frame follows.
void Mp4Encoder::encode(const AVFrame* frame) {
  checked(avcodec_send_frame(encoder_.get(), frame), "the encoder refuses a frame");
  for (;;) {
    const int code = avcodec_receive_packet(encoder_.get(), packet_.get());
    if (code == AVERROR(EAGAIN) || code == AVERROR_EOF) return;
    checked(code, "the encoder failed");
    if (packet_->duration == 0) packet_->duration = 1;
    av_packet_rescale_ts(packet_.get(), encoder_->time_base, output_->streams[0]->time_base);
    packet_->stream_index = 0;
    checked(av_interleaved_write_frame(output_.get(), packet_.get()), "FFmpeg does not write on in the mp4");
  }
}

std::vector<std::byte> Mp4Encoder::finish() {
  encode(nullptr);
  checked(av_write_trailer(output_.get()), "FFmpeg does not end the mp4");
  uint8_t* bytes = nullptr;
  const int size = avio_close_dyn_buf(output_->pb, &bytes);
  output_->pb = nullptr;
  const std::unique_ptr<uint8_t, void (*)(void*)> owner(bytes, av_free);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes);
  return {begin, begin + size};
}

}  // namespace lerobot::eval
