#include "compiler/tune/measured_call.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace edge_infer {
namespace {

using loop::LoopNest;
using Values = std::map<std::string, int64_t, std::less<>>;

// Fewer rows than this do not tell one register tile from another.
constexpr int64_t kLeastRows = 128;
constexpr int64_t kLongest = 512;
constexpr std::array<int64_t, 8> kMixed = {512, 64, 256, 32, 384, 128, 16, 448};

Result<int64_t> evaluate(const SymInt& size, const Values& values) {
  EDGE_INFER_ASSIGN(const int64_t value, size.evaluate(values));
  if (value < 0 || value > (int64_t{1} << 40))
    return fail(ErrorCode::kResourceExhausted, "a size of {} is too large to measure", value);
  return value;
}

const loop::Attention* attention_of(const LoopNest& nest) {
  for (const loop::Stmt& stmt : std::get<loop::For>(nest.body.front().node).body)
    if (const auto* attention = std::get_if<loop::Attention>(&stmt.node)) return attention;
  return nullptr;
}

// Lengths of sequences of `rows` rows together.
std::vector<int64_t> sequence_lengths(int64_t rows) {
  if (rows <= kLongest) return {rows};
  std::vector<int64_t> lengths;
  for (size_t i = 0; rows > 0; ++i) {
    lengths.push_back(std::min(rows, kMixed[i % kMixed.size()]));
    rows -= lengths.back();
  }
  return lengths;
}

std::vector<std::byte> numbers(DType dtype, const std::vector<int64_t>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(dtype_size(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kI64) {
      std::memcpy(bytes.data() + i * sizeof(int64_t), &values[i], sizeof(int64_t));
    } else {
      const auto narrow = static_cast<int32_t>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(narrow), &narrow, sizeof(narrow));
    }
  }
  return bytes;
}

class CallMaker {
 public:
  CallMaker(const LoopNest& nest, int64_t rows, const Device& device, const CodeGenerator& generator)
      : nest_(nest), device_(device), generator_(generator) {
    rows_ = rows > 0 ? std::min(rows, device.target().pack_tokens) : 0;
  }

  Result<MeasuredCall> make() {
    for (const Symbol& s : nest_.symbols) {
      const int64_t wanted = rows_ > 0 ? s.hint : std::max(s.hint, kLeastRows);
      values_[s.name] = std::clamp(wanted, s.range.lo, s.range.hi);
    }
    if (const loop::Attention* attention = attention_of(nest_)) {
      EDGE_INFER_RETURN_IF_ERROR(set_sequences(*attention));
    } else if (rows_ > 0) {
      set_rows(nest_.work().extent);
    }
    MeasuredCall call;
    for (const Symbol& s : nest_.symbols) call.integers.push_back(values_[s.name]);
    for (size_t b = 0; b < nest_.buffers.size(); ++b) {
      EDGE_INFER_ASSIGN(MeasuredCall::Buffer buffer, make_buffer(nest_.buffers[b]));
      if (const auto found = contents_.find(b); found != contents_.end()) {
        if (found->second.size() != buffer.bytes)
          return fail(ErrorCode::kUnsupported, "@{}: {} bytes of sequences, the buffer has {}", nest_.name,
                      found->second.size(), buffer.bytes);
        buffer.content = std::move(found->second);
      }
      call.buffers.push_back(std::move(buffer));
    }
    EDGE_INFER_ASSIGN(call.rows, evaluate(nest_.work().extent, values_));
    if (const loop::AxisId axis = nest_.split_columns(); axis >= 0) {
      EDGE_INFER_ASSIGN(call.columns, evaluate(nest_.axis(axis).extent, values_));
    }
    return call;
  }

 private:
  // The symbol that the extent grows with gets the value at which it is `rows_`, or the next larger.
  void set_rows(const SymInt& extent) {
    for (const Symbol& s : nest_.symbols) {
      Values at = values_;
      const auto extent_at = [&](int64_t value) {
        at[s.name] = value;
        return extent.evaluate(at).value_or(-1);
      };
      if (extent_at(s.range.lo) == extent_at(s.range.hi)) continue;
      int64_t low = s.range.lo, high = std::min(s.range.hi, std::max(s.range.lo, rows_));
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (extent_at(middle) >= rows_)
          high = middle;
        else
          low = middle + 1;
      }
      values_[s.name] = low;
      return;
    }
  }

  Status set_symbol(const SymInt& size, int64_t value) {
    for (const Symbol& s : nest_.symbols)
      for (const int64_t plus : {0, 1}) {
        if (!(SymInt::symbol(s.name) + plus == size)) continue;
        if (value - plus < s.range.lo || value - plus > s.range.hi)
          return fail(ErrorCode::kUnsupported, "@{}: {} = {} is out of range", nest_.name, s.name,
                      value - plus);
        values_[s.name] = value - plus;
        return {};
      }
    return fail(ErrorCode::kUnsupported, "@{}: a size of {}, expected a symbol", nest_.name, size.str());
  }

  Status set_sequences(const loop::Attention& attention) {
    const auto buffer = [&](int32_t id) -> const loop::Buffer& {
      return nest_.buffers[static_cast<size_t>(id)];
    };
    const loop::Buffer &q = buffer(attention.q.buffer), &cu = buffer(attention.cu),
                       &units = buffer(attention.units);
    if (q.sizes.empty() || cu.sizes.empty() || units.sizes.empty())
      return fail(ErrorCode::kUnsupported, "@{}: operands without rows", nest_.name);
    int64_t rows = rows_ > 0 ? rows_ : kLeastRows;
    for (const Symbol& s : nest_.symbols)
      if (SymInt::symbol(s.name) == q.sizes.front()) rows = std::min(rows, s.range.hi);
    std::vector<int64_t> offsets{0}, list;
    for (const int64_t length : sequence_lengths(rows)) {
      for (int64_t row = 0; row < length; row += attention.block_rows) {
        list.push_back(static_cast<int64_t>(offsets.size()) - 1);
        list.push_back(row);
      }
      offsets.push_back(offsets.back() + length);
    }
    EDGE_INFER_RETURN_IF_ERROR(set_symbol(q.sizes.front(), rows));
    EDGE_INFER_RETURN_IF_ERROR(set_symbol(cu.sizes.front(), static_cast<int64_t>(offsets.size())));
    EDGE_INFER_RETURN_IF_ERROR(set_symbol(units.sizes.front(), static_cast<int64_t>(list.size() / 2)));
    contents_[static_cast<size_t>(attention.cu)] = numbers(cu.dtype, offsets);
    contents_[static_cast<size_t>(attention.units)] = numbers(units.dtype, list);
    return {};
  }

  Result<MeasuredCall::Buffer> make_buffer(const loop::Buffer& buffer) const {
    MeasuredCall::Buffer made{.dtype = buffer.dtype, .is_output = buffer.access == loop::Access::kOut};
    if (buffer.access == loop::Access::kPacked) {
      EDGE_INFER_ASSIGN(made.bytes, device_.packed_bytes(generator_.packed_format(buffer.dtype),
                                                         buffer.sizes[0].constant().value_or(0),
                                                         buffer.sizes[1].constant().value_or(0)));
      return made;
    }
    int64_t bytes = dtype_size(buffer.dtype);
    for (const SymInt& size : buffer.sizes) {
      EDGE_INFER_ASSIGN(const int64_t extent, evaluate(size, values_));
      if (extent != 0 && bytes > (int64_t{1} << 40) / extent)
        return fail(ErrorCode::kResourceExhausted, "@{}: a buffer is too large to measure", nest_.name);
      bytes *= extent;
    }
    made.bytes = static_cast<size_t>(bytes);
    return made;
  }

  const LoopNest& nest_;
  const Device& device_;
  const CodeGenerator& generator_;
  int64_t rows_ = 0;
  Values values_;
  std::map<size_t, std::vector<std::byte>> contents_;
};

}  // namespace

Result<MeasuredCall> measured_call(const LoopNest& nest, int64_t rows, const Device& device,
                                   const CodeGenerator& generator) {
  return CallMaker(nest, rows, device, generator).make();
}

}  // namespace edge_infer
