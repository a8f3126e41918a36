#include "backends/cuda/measure.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "backends/cuda/launch_graph.h"
#include "runtime/base/hash.h"

namespace edge_infer::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kLeastNodes = 8;  // of a graph: one launch alone is mostly its start
constexpr size_t kMostSets = 1024;
constexpr size_t kPattern = size_t{1} << 20;   // bytes made on the host, repeated on the device
constexpr size_t kCompared = size_t{1} << 20;  // first bytes of a result
constexpr int kLeastRounds = 2;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class KernelTiming {
 public:
  KernelTiming(const CudaDevice& device, const MeasuredCall& call, std::span<const std::string> kernels,
               const MeasureOptions& options)
      : device_(device),
        driver_(device.driver()),
        call_(call),
        kernels_(kernels),
        options_(options),
        current_(device) {}

  ~KernelTiming() {
    if (stream_ != nullptr) driver_.stream_synchronize(stream_);
    graphs_.clear();
    for (const EventHandle event : events_)
      if (event != nullptr) driver_.event_destroy(event);
    if (stream_ != nullptr) driver_.stream_destroy(stream_);
  }

  Result<std::vector<Measurement>> run() {
    EDGE_INFER_RETURN_IF_ERROR(device_.usable());
    EDGE_INFER_RETURN_IF_ERROR(
        device_.check(driver_.stream_create(&stream_, kStreamNonBlocking), "make a stream"));
    for (EventHandle& event : events_)
      EDGE_INFER_RETURN_IF_ERROR(device_.check(driver_.event_create(&event, 0), "make an event"));
    EDGE_INFER_RETURN_IF_ERROR(place_operands());
    measured_.resize(kernels_.size());
    graphs_.resize(kernels_.size());
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const CudaKernel* kernel = device_.find_kernel(kernels_[k]);
      if (kernel == nullptr)
        return fail(ErrorCode::kNotFound, "{} has no code loaded as \"{}\"", device_.target().name,
                    kernels_[k]);
      EDGE_INFER_RETURN_IF_ERROR(settle(k, begin(k, *kernel)));
    }
    EDGE_INFER_RETURN_IF_ERROR(run_rounds());
    return std::move(measured_);
  }

 private:
  // A candidate's failure is its own, unless nothing runs any more.
  Status settle(size_t k, Status status) {
    if (status) return {};
    if (status.error().code == ErrorCode::kDeviceLost) return status;
    measured_[k] = {.status = std::move(status)};
    graphs_[k] = {};
    return {};
  }

  Status place_operands() {
    size_t end = aligned(std::max<size_t>(call_.integers.size(), 1) * sizeof(int64_t));
    for (const MeasuredCall::Buffer& buffer : call_.buffers) {
      offsets_.push_back(end);
      end += aligned(buffer.bytes) + kAlignment;
    }
    set_bytes_ = end;
    const auto cache = static_cast<size_t>(std::max<int64_t>(device_.facts().l2_bytes, 0));
    sets_ = std::clamp<size_t>(2 * cache / set_bytes_ + 1, 2, kMostSets);
    while (true) {
      Result<DeviceBuffer> memory = device_.allocate(sets_ * set_bytes_, "operands to measure with");
      if (memory) {
        memory_ = *std::move(memory);
        break;
      }
      if (memory.error().code != ErrorCode::kResourceExhausted || sets_ == 1)
        return std::unexpected(memory.error());
      sets_ /= 2;
    }
    for (size_t set = 0; set < sets_; ++set)
      if (!call_.integers.empty())
        EDGE_INFER_RETURN_IF_ERROR(upload(set, 0, std::as_bytes(std::span(call_.integers)),
                                          call_.integers.size() * sizeof(int64_t)));
    for (size_t b = 0; b < call_.buffers.size(); ++b) {
      const MeasuredCall::Buffer& buffer = call_.buffers[b];
      if (buffer.is_output) continue;
      std::vector<std::byte> made;
      if (buffer.content.empty()) {
        made.resize(std::min(buffer.bytes, kPattern));
        fill_operand(buffer.dtype, made);
      }
      const std::span<const std::byte> pattern = buffer.content.empty() ? made : buffer.content;
      for (size_t set = 0; set < sets_; ++set)
        EDGE_INFER_RETURN_IF_ERROR(upload(set, offsets_[b], pattern, buffer.bytes));
    }
    return arrive();
  }

  DeviceAddress address(size_t set, size_t offset) const {
    return memory_.address() + set * set_bytes_ + offset;
  }

  // `pattern` over and over, up to `bytes`.
  Status upload(size_t set, size_t offset, std::span<const std::byte> pattern, size_t bytes) {
    for (size_t at = 0; at < bytes; at += pattern.size())
      EDGE_INFER_RETURN_IF_ERROR(
          device_.check(driver_.copy_to_device(address(set, offset) + at, pattern.data(),
                                               std::min(pattern.size(), bytes - at)),
                        "upload operands"));
    return {};
  }
  // Copies from pageable memory may return before their last bytes have arrived.
  Status arrive() { return device_.check(driver_.stream_synchronize(nullptr), "upload operands"); }

  size_t nodes() const { return sets_ * ((kLeastNodes + sets_ - 1) / sets_); }

  // The candidate's graph, run once over results of all ones.
  Status begin(size_t k, const CudaKernel& kernel) {
    const CudaLaunch& facts = kernel.launch;
    std::vector<KernelLaunch> launches(nodes());
    for (size_t i = 0; i < launches.size(); ++i) {
      const size_t set = i % sets_;
      KernelLaunch& launch = launches[i];
      launch.function = kernel.function;
      launch.grid =
          static_cast<unsigned>(facts.grid(call_.rows, call_.columns, device_.facts().multiprocessors));
      launch.threads = static_cast<unsigned>(facts.threads);
      launch.shared_bytes = static_cast<unsigned>(facts.shared_bytes);
      launch.cluster = static_cast<unsigned>(facts.cluster);
      launch.programmatic = i > 0 && facts.waits && device_.facts().programmatic_launch;
      launch.addresses.push_back(address(set, 0));
      for (const size_t offset : offsets_) launch.addresses.push_back(address(set, offset));
      for (const TensorMap& map : facts.maps) {
        const auto b = static_cast<size_t>(map.buffer);
        if (b >= offsets_.size())
          return fail(ErrorCode::kInternal, "a map of operand {}, the call has {}", b, offsets_.size());
        const auto row = static_cast<size_t>(map.columns * dtype_size(map.dtype));
        EDGE_INFER_ASSIGN(const EncodedTensorMap encoded,
                          encode_tensor_map(device_, map, address(set, offsets_[b]),
                                            static_cast<int64_t>(call_.buffers[b].bytes / row)));
        launch.maps.push_back(encoded);
      }
      launch.point_to_parameters();
    }
    EDGE_INFER_ASSIGN(graphs_[k], build_graph(device_, launches, stream_));
    EDGE_INFER_RETURN_IF_ERROR(poison_results());
    EDGE_INFER_RETURN_IF_ERROR(replay(k));
    return compare_results();
  }

  Status poison_results() {
    const std::vector<std::byte> ones(kPattern, std::byte{0xff});
    for (size_t b = 0; b < call_.buffers.size(); ++b)
      if (call_.buffers[b].is_output)
        EDGE_INFER_RETURN_IF_ERROR(upload(0, offsets_[b], ones, std::min(call_.buffers[b].bytes, kCompared)));
    return arrive();
  }

  Status compare_results() {
    std::string digests;
    for (size_t b = 0; b < call_.buffers.size(); ++b) {
      const MeasuredCall::Buffer& buffer = call_.buffers[b];
      if (!buffer.is_output || buffer.bytes == 0) continue;
      std::vector<std::byte> bytes(std::min(buffer.bytes, kCompared));
      EDGE_INFER_RETURN_IF_ERROR(device_.check(
          driver_.copy_to_host(bytes.data(), address(0, offsets_[b]), bytes.size()), "read results"));
      digests += content_digest(bytes);
    }
    if (!results_) results_ = digests;
    if (*results_ == digests) return {};
    return fail(ErrorCode::kInternal, "its results have other bits than those of the candidates before it");
  }

  // Nanoseconds of a launch.
  Result<int64_t> replay(size_t k) {
    EDGE_INFER_RETURN_IF_ERROR(device_.check(driver_.event_record(events_[0], stream_), "record an event"));
    Status status = device_.check(driver_.graph_launch(graphs_[k].handle(), stream_), "replay a graph");
    if (status) status = device_.check(driver_.event_record(events_[1], stream_), "record an event");
    if (status) status = device_.check(driver_.event_synchronize(events_[1]), "run a candidate");
    float milliseconds = 0;
    if (status)
      status =
          device_.check(driver_.event_elapsed_time(&milliseconds, events_[0], events_[1]), "read an event");
    if (!status) {
      driver_.stream_synchronize(stream_);
      return std::unexpected(status.error());
    }
    seconds_ += static_cast<double>(milliseconds) / 1e3;
    const double each = static_cast<double>(milliseconds) * 1e6 / static_cast<double>(nodes());
    return std::max<int64_t>(std::llround(each), 1);
  }

  Status run_rounds() {
    seconds_ = 0;
    for (int round = 0; round < options_.rounds; ++round) {
      if (options_.is_cancelled && options_.is_cancelled())
        return fail(ErrorCode::kCancelled, "measuring was cancelled");
      // The GPU's own time, so that what the host does beside it changes nothing.
      if (round >= kLeastRounds && seconds_ > options_.max_seconds) break;
      for (size_t k = 0; k < kernels_.size(); ++k) {
        if (!measured_[k].status) continue;
        const Result<int64_t> time = replay(k);
        if (time)
          measured_[k].nanoseconds.push_back(*time);
        else
          EDGE_INFER_RETURN_IF_ERROR(settle(k, std::unexpected(time.error())));
      }
    }
    return {};
  }

  const CudaDevice& device_;
  const Driver& driver_;
  const MeasuredCall& call_;
  std::span<const std::string> kernels_;
  const MeasureOptions& options_;
  const CurrentContext current_;
  StreamHandle stream_ = nullptr;
  EventHandle events_[2] = {};
  std::vector<size_t> offsets_;  // of each buffer in a set, behind the integers
  size_t set_bytes_ = 0, sets_ = 0;
  DeviceBuffer memory_;
  std::vector<GraphExec> graphs_;
  std::vector<Measurement> measured_;
  std::optional<std::string> results_;  // digests of the first candidate's
  double seconds_ = 0;
};

}  // namespace

Result<std::vector<Measurement>> measure_kernels(const CudaDevice& device, const MeasuredCall& call,
                                                 std::span<const std::string> kernels,
                                                 const MeasureOptions& options) {
  return KernelTiming(device, call, kernels, options).run();
}

}  // namespace edge_infer::cuda
