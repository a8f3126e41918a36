// launch threads=128 shared=65536 per_sm=3 cluster=1 tile=4x1 waits=1
// Prelude of generated kernels: header-free types, and what the kernel below uses.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }

inline void wait_for_producers() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

template <class T>
inline T max_of(T a, T b) {
  return a != a || a > b ? a : b;
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return max_of(a, b);
  }
};

template <class T>
inline T shuffle(T x, i32 distance) {
  return __shfl_xor_sync(0xffffffffu, x, distance);
}

// Of 32 threads, by halves; all get the result.
template <class Op, class T>
inline T warp_reduce(T x, Op op) {
#pragma unroll
  for (i32 distance = 16; distance > 0; distance >>= 1) x = op(x, shuffle(x, distance));
  return x;
}


extern "C" __global__ void __launch_bounds__(128) k(const i64* n, const float* b0, float* b1) {
  launch_dependents();
  const i64 s0 = n[0];
  const i64 s1 = n[1];
  wait_for_producers();
  const i32 lane = threadIdx.x % 32;
  extern __shared__ __align__(16) u8 shared[];
  u8* const own = shared + threadIdx.x / 32 * 16384;
  float* const c0 = reinterpret_cast<float*>(own + 0);
  for (i64 m = (i64)blockIdx.x * 4 + threadIdx.x / 32; m < s0; m += (i64)gridDim.x * 4) {
    float a0 = -__int_as_float(0x7f800000);
    for (i64 i1 = lane; i1 < s1; i1 += 32) {
      a0 = max_of<float>(a0, b0[s1 * m + i1]);
    }
    const float v0 = warp_reduce(a0, Max{});
    __syncwarp();
    for (i64 i1 = lane; i1 < s1; i1 += 32) {
      c0[i1] = expf((b0[s1 * m + i1] - v0));
    }
    __syncwarp();
    float a1 = 0.0f;
    for (i64 i1 = lane; i1 < s1; i1 += 32) {
      a1 = a1 + c0[i1];
    }
    const float v1 = warp_reduce(a1, Sum{});
    for (i64 i1 = lane; i1 < s1; i1 += 32) {
      b1[s1 * m + i1] = c0[i1] / v1;
    }
  }
}
