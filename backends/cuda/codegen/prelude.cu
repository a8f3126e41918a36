// Prelude of every generated kernel: header-free types.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
struct alignas(64) TMap {
  u64 v[16];
};
