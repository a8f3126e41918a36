// launch threads=128 shared=0 per_sm=8 cluster=1 tile=4x1 waits=1
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

// V elements that move together, 16 bytes at a time.
template <class T, i32 V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Pack {
  T v[V];
};

template <i32 V, class T>
inline Pack<T, V> load_vector(const T* p) {
  return *reinterpret_cast<const Pack<T, V>*>(p);
}

template <i32 V, class T>
inline void store_vector(T* p, const Pack<T, V>& x) {
  *reinterpret_cast<Pack<T, V>*>(p) = x;
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
  wait_for_producers();
  const i32 lane = threadIdx.x % 32;
  for (i64 m = (i64)blockIdx.x * 4 + threadIdx.x / 32; m < s0; m += (i64)gridDim.x * 4) {
    float c0[32];
    #pragma unroll
    for (i32 u0 = 0; u0 < 8; ++u0) {
      const i64 i1 = (u0 * 32 + lane) * 4;
      if (i1 < 1000) {
        const Pack<float, 4> t1 = load_vector<4>(b0 + (i1 + 1000 * m));
        #pragma unroll
        for (i32 j = 0; j < 4; ++j) {
          c0[u0 * 4 + j] = t1.v[j];
        }
      }
    }
    float a2 = -__int_as_float(0x7f800000);
    #pragma unroll
    for (i32 u3 = 0; u3 < 8; ++u3) {
      const i64 i1 = (u3 * 32 + lane) * 4;
      if (i1 < 1000) {
        #pragma unroll
        for (i32 j = 0; j < 4; ++j) {
          a2 = max_of<float>(a2, c0[u3 * 4 + j]);
        }
      }
    }
    const float v0 = warp_reduce(a2, Max{});
    float a4 = 0.0f;
    #pragma unroll
    for (i32 u5 = 0; u5 < 8; ++u5) {
      const i64 i1 = (u5 * 32 + lane) * 4;
      if (i1 < 1000) {
        #pragma unroll
        for (i32 j = 0; j < 4; ++j) {
          a4 = a4 + expf((c0[u5 * 4 + j] - v0));
        }
      }
    }
    const float v1 = warp_reduce(a4, Sum{});
    #pragma unroll
    for (i32 u6 = 0; u6 < 8; ++u6) {
      const i64 i2 = (u6 * 32 + lane) * 4;
      if (i2 < 1000) {
        Pack<float, 4> t7;
        #pragma unroll
        for (i32 j = 0; j < 4; ++j) {
          t7.v[j] = expf((c0[u6 * 4 + j] - v0)) / v1;
        }
        store_vector<4>(b1 + (1000 * m + i2), t7);
      }
    }
  }
}
