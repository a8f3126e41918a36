#include "backends/cuda/constant_memory.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <system_error>

namespace edge_infer::cuda {
namespace {

// Less is there before a thread has begun.
constexpr size_t kLeastOnThread = size_t{256} << 10;

}  // namespace

std::shared_ptr<ConstantMemory> ConstantMemory::upload(std::shared_ptr<const CudaDevice> device,
                                                       DeviceBuffer buffer, std::vector<CopyItem> items) {
  const std::shared_ptr<ConstantMemory> memory(
      new ConstantMemory(std::move(device), std::move(buffer), std::move(items), ::getpid()));
  if (memory->buffer_.bytes() >= kLeastOnThread) {
    try {
      memory->copier_ = std::thread([raw = memory.get()] { raw->copy(); });
      return memory;
    } catch (const std::system_error&) {  // no thread to be had
    }
  }
  memory->copy();
  return memory;
}

void ConstantMemory::copy() {
  const auto begin = std::chrono::steady_clock::now();
  Status status;
  try {
    status = copy_staged(*device_, buffer_.address(), items_);
  } catch (const std::exception& exception) {
    status = fail(ErrorCode::kResourceExhausted, "upload weights: {}", exception.what());
  }
  device_->start_times().add(StartTimes::kUpload, std::chrono::steady_clock::now() - begin);
  {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    done_ = true;
  }
  arrived_.notify_all();
}

Status ConstantMemory::wait() const {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return done_; });
  return status_;
}

ConstantMemory::~ConstantMemory() {
  if (!copier_.joinable()) return;
  // A forked child has the handle, but not the thread.
  if (process_ == ::getpid())
    copier_.join();
  else
    copier_.detach();
}

}  // namespace edge_infer::cuda
