// Hand-written nests that the tests of this folder share. Each is in canonical form.
#pragma once

#include <iterator>
#include <string>
#include <vector>

namespace edge_infer::loop {

inline constexpr const char* kLayerNorm = R"(nest @ln class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: in f32[T, 8], b1: in f32[8], b2: in f32[8], b3: out f32[T, 8]) {
  for m:T work {
    %v0, %v1 = reduce moments(b0[8*m+n]) over n:8
    %v2 = rsqrt(%v1 / 8 + 1e-05)
    for n:8 lane {
      b3[8*m+n] = (b0[8*m+n] - %v0) * %v2 * b1[n] + b2[n]
    }
  }
}
)";

inline constexpr const char* kGemmRow = R"(nest @out_ln class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: in f32[T, 6], b1: packed f32[8, 6], b2: in f32[8], b3: in f32[T, 8], b4: out f32[T, 8]) {
  for m:T work {
    local c0: f32[8]
    gemm %v0 over n:8, k:6 a(b0[k+6*m]) w(b1) {
      c0[n] = %v0 + b2[n] + b3[8*m+n]
    }
    %v1, %v2 = reduce moments(c0[n]) over n:8
    %v3 = rsqrt(%v2 * 0.125 + 1e-12)
    for n:8 lane {
      b4[8*m+n] = (c0[n] - %v1) * %v3
    }
  }
}
)";

// Three heads of 2 on one head of k and v, in one packed buffer of rows q (6), k (2), v (2).
inline constexpr const char* kAttention =
    R"(nest @att class f32.k1 symbols(T in 1..1024 hint 16, B in 1..64 hint 2, U in 1..64 hint 2)
    (b0: in f32[T, 10], b1: index i32[B+1], b2: index i32[U, 2], b3: out f32[T, 6]) {
  for m:3*U work {
    attention heads 3 kv_heads 1 dim 2 block_rows 2 scale 0.7 causal q(b0 row 10 offset 0) k(b0 row 10 offset 6) v(b0 row 10 offset 8) out(b3 row 6 offset 0) cu(b1) units(b2)
  }
}
)";

inline constexpr const char* kEmbedding = R"(nest @embed class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: index i64[T], b1: in f32[10, 4], b2: in f32[4], b3: out f32[T, 4]) {
  for m:T work {
    %v0 = b0[m]
    local c0: f32[4]
    for n:4 lane {
      c0[n] = b1[n+4*v0] + b2[n]
    }
    %v1, %v2 = reduce moments(c0[n]) over n:4
    %v3 = rsqrt(%v2 * 0.25 + 1e-12)
    for n:4 lane {
      b3[4*m+n] = (c0[n] - %v1) * %v3
    }
  }
}
)";

inline constexpr const char* kPool =
    R"(nest @pool class f32.k1 symbols(B in 1..64 hint 2, T in 1..1024 hint 128)
    (b0: in f32[T, 3], b1: index i32[B+1], b2: out f32[B, 3]) {
  for m:B work {
    %v0 = b1[m]
    %v1 = b1[m+1]
    local c0: f32[3]
    for n:3 lane {
      %v2 = reduce sum(b0[n+3*t]) over t:v0..v1 segment
      c0[n] = %v2 / size(-v0+v1):f32
    }
    %v3 = reduce sum(c0[n] * c0[n]) over n:3
    %v4 = rcp(max(sqrt(%v3), 1e-12))
    for n:3 lane {
      b2[3*m+n] = c0[n] * %v4
    }
  }
}
)";

inline constexpr const char* kColumns = R"(nest @columns class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: in f32[T, 5], b1: out f32[5], b2: out i64[5]) {
  for n:5 work {
    %v0 = reduce sum(b0[5*i+n]) over i:T
    b1[n] = %v0
    %v1 = reduce argmax(b0[5*i+n]) over i:T
    b2[n] = %v1
  }
}
)";

inline constexpr const char* kIntegers = R"(nest @integers class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: in i32[T], b1: in i8[T], b2: out i32[T], b3: out i8[T], b4: out bool[T], b5: out i64[T]) {
  for m:T work {
    %v0 = b0[m]
    b2[m] = mod(%v0, 7:i32) * 3:i32 - floordiv(-%v0, 4:i32) + %v0 / 3:i32
    b3[m] = b1[m] + b1[m]
    b4[m] = and(not(%v0 < 0:i32), %v0 == xor(%v0, 0:i32) - (%v0 - %v0))
    b5[m] = select(%v0 > 3:i32, shl(i64(%v0), 2:i64), size(2*m):i64 - i64(bool(%v0)))
  }
}
)";

inline constexpr const char* kGuarded = R"(nest @shift class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: in f32[T], b1: out f32[T], b2: out f32[T]) {
  for m:T work {
    %v0 = load(b0[m-1], size(m):i64 > 0:i64, -1)
    b1[m] = %v0
    b2[m+1] = %v0 * -0x1.8p-70 if size(m+1):i64 < size(T):i64
  }
}
)";

inline constexpr const char* kHalf = R"(nest @half class f32.k1 symbols(T in 1..1024 hint 128)
    (b0: in bf16[T], b1: in f16[T], b2: out bf16[T], b3: out f16[T]) {
  for m:T work {
    %v0 = f32(b0[m]) * f32(b1[m])
    b2[m] = bf16(%v0)
    b3[m] = f16(%v0 + 1 / 3)
  }
}
)";

inline std::vector<std::string> all_nests() {
  return {kLayerNorm, kGemmRow, kAttention, kEmbedding, kPool, kColumns, kIntegers, kGuarded, kHalf};
}

}  // namespace edge_infer::loop
