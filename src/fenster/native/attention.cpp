// Window attention over packed sequences, for PyTorch models on a CPU without gradients. Plain C functions, called through
// ctypes.

#include "attention.h"
#include "status.h"

namespace {

constexpr double kThreadWork = 2000000;  // multiplications that are worth a thread of their own

}  // namespace

// Query n of `q` [queries, heads, size] sees the rows first[n] … last[n] of `k` and `v` [rows, heads, size], and with
// a `table` [2 * window + 1, heads, size] the relative vector window + n - row. Strides are those of rows. Returns a
// status.
FENSTER_EXPORT int fenster_window_attention(const float* q, const float* k, const float* v, const float* table,
                                             const int64_t* first, const int64_t* last, int64_t queries, int64_t heads,
                                             int64_t size, int64_t q_stride, int64_t k_stride, int64_t v_stride,
                                             int64_t window, float* out, int threads) {
  return guarded([&] {
    const Attend attend = attend_for(size);
    const double work = 2.0 * static_cast<double>(queries) * static_cast<double>((2 * window + 1) * heads * size);
    in_parts(queries, threads, work, kThreadWork, [&](long begin, long end) {
      Seen seen;
      for (long n = begin; n < end; ++n) {
        seen.clear();
        for (int64_t row = first[n]; row <= last[n]; ++row) {
          seen.add(k + row * k_stride, v + row * v_stride);
          if (table) seen.relative.push_back(table + (window + n - row) * heads * size);
        }
        attend_to(attend, seen, q + n * q_stride, heads, size, out + n * heads * size);
      }
    });
    return kDone;
  });
}
