// Searches and attention maps, as Python calls them. Plain C functions through ctypes: neither Python's nor torch's
// headers are needed, and nothing breaks when those change.

#include "search_group.h"

// Searches in *group, which wait for their first step. What the structures point to must stay until they are freed.
FENSTER_EXPORT int fenster_search_new(const Network* network, const Settings* settings, const Request* requests,
                                      int64_t count, int64_t most_lines, int threads, int64_t shares,
                                      SearchGroup** group) {
  return guarded([&] {
    *group = new SearchGroup(*network, *settings, requests, count, most_lines, threads, shares);
    return kMore;
  });
}

FENSTER_EXPORT int fenster_search_run(SearchGroup* group, int64_t milliseconds) {
  return guarded([&] { return group->run(milliseconds); });
}

FENSTER_EXPORT int fenster_search_logs(SearchGroup* group, float* out) {
  return guarded([&] { return group->only().logs(out); });
}

FENSTER_EXPORT int fenster_search_step(SearchGroup* group, const int64_t* parents, const int32_t* tokens, int64_t count) {
  return guarded([&] { return group->only().step(parents, tokens, count); });
}

// How much there is to read of searches that are done, and where.
FENSTER_EXPORT int64_t fenster_search_numbers(SearchGroup* group, const int32_t** numbers) {
  *numbers = group->numbers.data();
  return static_cast<int64_t>(group->numbers.size());
}

FENSTER_EXPORT int64_t fenster_search_scores(SearchGroup* group, const double** scores) {
  *scores = group->scores.data();
  return static_cast<int64_t>(group->scores.size());
}

FENSTER_EXPORT void fenster_search_free(SearchGroup* group) { delete group; }

// out [target tokens, source tokens]: what target tokens look at, mean over heads and layers.
FENSTER_EXPORT int fenster_cross_attention(const Network* network, const Request* request, int threads, float* out) {
  return guarded([&] {
    Layers layers(*network, threads);
    const Source& source = request->source;
    Floats states, hidden;
    std::vector<Span> spans;
    Encoder(layers).run({source}, states, spans);
    std::fill(out, out + request->target.tokens * source.tokens, 0.0f);
    const float share = 1.0f / static_cast<float>(network->heads * network->decoder_layers);
    Decoder(layers, 1).prefill({source}, {request->target}, states, spans, false, true, hidden,
                               [&](long row, const Seen& seen) {
                                 for (long head = 0; head < network->heads; ++head)
                                   for (long n = 0; n < seen.count(); ++n)
                                     out[row * source.tokens + seen.first + n] +=
                                         share * seen.weights[head * seen.stride + n];
                               });
    return kDone;
  });
}

// How large the structures of `model/compiled` are here, in its order: those of another version must not be used.
FENSTER_EXPORT int64_t fenster_structure_bytes(int number) {
  constexpr size_t bytes[] = {sizeof(Matrix),  sizeof(Norm),    sizeof(EncoderLayer), sizeof(DecoderLayer),
                              sizeof(Network), sizeof(Request), sizeof(Settings)};
  return static_cast<int64_t>(bytes[number]);
}

FENSTER_EXPORT EncoderMemory* fenster_memory_new() { return new (std::nothrow) EncoderMemory; }

FENSTER_EXPORT void fenster_memory_free(EncoderMemory* memory) { delete memory; }

FENSTER_EXPORT int64_t fenster_memory_bytes(const EncoderMemory* memory) {
  int64_t bytes = static_cast<int64_t>(memory->ids.size() * sizeof(int32_t));
  for (const EncoderMemory::Level& level : memory->levels)
    bytes += static_cast<int64_t>(level.rows.size() * sizeof(float));
  return bytes;
}
