// Attention over few keys, as windows and caches have it: each query looks at its own keys and at no others.
//
// float32, for inference on a CPU. A query's result does not depend on the queries beside it.
// Plain C functions, called through ctypes.

#include "attention.h"

namespace {

constexpr double kThreadWork = 2000000;  // multiplications that are worth a thread of their own

template <typename Collect>
void run(long queries, long most_keys, long heads, long size, int threads, bool plain, const float* q, long q_stride,
         float* out, const Collect& collect_keys) {
  const Attend attend = attend_for(size, plain);
  const auto part = [&](long begin, long end) {
    Seen seen;
    for (long n = begin; n < end; ++n) {
      seen.clear();
      collect_keys(n, seen);
      attend_to(attend, seen, q + n * q_stride, heads, size, out + n * heads * size);
    }
  };
  const double work = 2.0 * static_cast<double>(queries) * static_cast<double>(most_keys * heads * size);
  in_parts(queries, threads, work, kThreadWork, part);
}

}  // namespace

// Query n of `q` [queries, heads, size] sees the rows first[n] … last[n] of `k` and `v` [rows, heads, size], and with
// a `table` [2 * window + 1, heads, size] the relative vector window + n - row. Strides are those of rows.
FENSTER_EXPORT void fenster_window_attention(const float* q, const float* k, const float* v, const float* table,
                                             const int64_t* first, const int64_t* last, int64_t queries, int64_t heads,
                                             int64_t size, int64_t q_stride, int64_t k_stride, int64_t v_stride,
                                             int64_t window, float* out, int threads, int plain) {
  run(queries, 2 * window + 1, heads, size, threads, plain != 0, q, q_stride, out, [&](long n, Seen& seen) {
    for (int64_t row = first[n]; row <= last[n]; ++row) {
      seen.keys.push_back(k + row * k_stride);
      seen.values.push_back(v + row * v_stride);
      if (table) seen.relative.push_back(table + (window + n - row) * heads * size);
    }
  });
}

// What each query of `q` [queries, heads, size] sees is in `view`; `table` may be null.
FENSTER_EXPORT void fenster_decode_attention(const float* q, const float* kv, const Slots* view, const float* table,
                                             int64_t queries, int64_t heads, int64_t size, int64_t q_stride, float* out,
                                             int threads, int plain) {
  run(queries, view->slots, heads, size, threads, plain != 0, q, q_stride, out,
      [&](long n, Seen& seen) { collect(*view, n, queries, heads * size, kv, table, seen); });
}
