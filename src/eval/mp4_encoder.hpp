// FFmpeg's side of a video: RGB frames in, the bytes of an mp4 file out.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lerobot/env/observation.hpp"

namespace lerobot::eval {

// Not thread-safe. Throws RunError with FFmpeg's reason; the message does not name the file.
class Mp4Encoder {
 public:
  // Tries `encoders` in their order; `warn` hears when the first is not the one that runs, and of an odd size.
  Mp4Encoder(int64_t width, int64_t height, double fps, const std::vector<std::string>& encoders,
             const std::function<void(std::string_view)>& warn);

  void add(const env::Image& image);
  std::vector<std::byte> finish();  // the whole file; nothing may be added afterwards

 private:
  struct FreeCodecContext {
    void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  };
  struct FreeOutput {  // with the buffer that it writes into
    void operator()(AVFormatContext* context) const;
  };
  struct FreeFrame {
    void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  };
  struct FreePacket {
    void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  };
  struct FreeScaler {
    void operator()(SwsContext* context) const { sws_freeContext(context); }
  };
  using CodecContext = std::unique_ptr<AVCodecContext, FreeCodecContext>;

  static CodecContext open(const std::string& name, int width, int height, AVRational rate, std::string& reason);
  void choose_encoder(double fps, const std::vector<std::string>& encoders,
                      const std::function<void(std::string_view)>& warn);
  void begin_file();
  void prepare_pictures();
  void encode(const AVFrame* frame);

  int64_t source_width_;
  int64_t source_height_;
  int width_;  // even
  int height_;
  int64_t frame_count_ = 0;
  CodecContext encoder_;
  std::unique_ptr<AVFormatContext, FreeOutput> output_;
  std::unique_ptr<AVFrame, FreeFrame> picture_;
  std::unique_ptr<AVPacket, FreePacket> packet_;
  std::unique_ptr<SwsContext, FreeScaler> scaler_;
};

}  // namespace lerobot::eval
