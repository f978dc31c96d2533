// Searches and attention maps, as Python calls them. Plain C functions through ctypes: neither Python's nor torch's
// headers are needed, and nothing breaks when those change.

#include <chrono>
#include <memory>
#include <new>

#include "beam.h"

namespace {

enum Status : int { kDone = 0, kMore = 1, kNotFinite = 2, kNoMemory = 3 };

constexpr size_t kScored = 48;          // hypotheses whose logits are in memory at once
constexpr double kChoiceWork = 100000;  // logits that are worth a thread of their own

template <typename Do>
int guarded(const Do& work) {
  try {
    return work();
  } catch (const NotFinite&) {
    return kNotFinite;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::length_error&) {
    return kNoMemory;
  }
}

void nothing(long, const Seen&) {}

class Search {
 public:
  Search(const Network& network, const Settings& settings, const Request* requests, long count, long most_lines,
         int threads)
      : network_(network), settings_(settings), requests_(requests, requests + count), layers_(network_, threads),
        decoder_(layers_, most_lines), beam_(settings_, requests_, network.embedding.columns) {
    std::vector<Source> sources;
    std::vector<Target> targets;
    for (const Request& request : requests_) {
      sources.push_back(request.source);
      targets.push_back(request.target);
    }
    Floats states;
    std::vector<Span> spans;
    Encoder(layers_).run(sources, states, spans);
    decoder_.prefill(sources, targets, states, spans, settings_.focus != 0, false, hidden_, nothing);
    lines_ = beam_.lines();
  }

  // Steps for about so many milliseconds.
  Status run(long milliseconds) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
    do {
      choose();
      lines_ = beam_.lines();
      if (lines_.empty()) return write(), kDone;
      decoder_.step(lines_, hidden_);
      beam_.set_lines(lines_);
    } while (Clock::now() < until);
    return kMore;
  }

  // out [lines, vocabulary]: log-probabilities of what may come next.
  Status logs(float* out) {
    const long size = network_.embedding.columns, rows = static_cast<long>(lines_.size());
    multiply(network_.embedding, hidden_.data(), rows, out, layers_.threads);
    for (long row = 0; row < rows; ++row) {
      const float sum = log_sum(out + row * size, size);
      for (long id = 0; id < size; ++id) out[row * size + id] -= sum;
    }
    return kDone;
  }

  // The next tokens of lines that continue from the lines `parents`.
  Status step(const int64_t* parents, const int32_t* tokens, long count) {
    std::vector<Line> next;
    for (long n = 0; n < count; ++n) {
      Line line = lines_[parents[n]];
      const bool separates = tokens[n] == settings_.separator;
      line.token = tokens[n];
      line.sentence += separates;
      line.inner = separates ? 0 : line.inner + 1;
      next.push_back(std::move(line));
    }
    lines_ = std::move(next);
    decoder_.step(lines_, hidden_);
    return kDone;
  }

  // Of each search the number of its hypotheses; of each of those its length, its tokens, and the sentences ended by
  // force.
  std::vector<int32_t> numbers;
  std::vector<double> scores;  // of each hypothesis its log-probability and its score

 private:
  // The next tokens of all hypotheses, some searches at a time.
  void choose() {
    size_t row = 0;
    for (size_t first = 0; first < beam_.count();) {
      size_t last = first, rows = 0;
      std::vector<size_t> owners;
      for (; last < beam_.count() && (rows == 0 || rows + beam_.alive(last) <= kScored); ++last) {
        rows += beam_.alive(last);
        owners.insert(owners.end(), beam_.alive(last), last);
      }
      if (rows) score(owners, &hidden_[row * network_.width]);
      size_t at = 0;
      for (size_t number = first; number < last; ++number) {
        const size_t alive = beam_.alive(number);
        if (alive) beam_.advance(number, &scored_[at]);
        at += alive;
      }
      row += rows;
      first = last;
    }
  }

  void score(const std::vector<size_t>& owners, const float* hidden) {
    const long rows = static_cast<long>(owners.size()), size = network_.embedding.columns, words = beam_.words();
    logits_.resize(static_cast<size_t>(rows * size));
    values_.resize(static_cast<size_t>(rows * words));
    ids_.resize(static_cast<size_t>(rows * words));
    scored_.resize(owners.size());
    multiply(network_.embedding, hidden, rows, logits_.data(), layers_.threads);
    std::atomic<bool> finite{true};
    in_parts(rows, layers_.threads, static_cast<double>(rows * size), kChoiceWork, [&](long begin, long end) {
      for (long row = begin; row < end; ++row) {
        const float* logits = &logits_[row * size];
        Best best{&values_[row * words], &ids_[row * words], words};
        best_words(logits, beam_.request(owners[row]).banned, settings_.first_word, size, best);
        scored_[row] = {logits, log_sum(logits, size), best.values, best.ids};
        if (!std::isfinite(scored_[row].log_sum)) finite = false;
      }
    });
    if (!finite) throw NotFinite();
  }

  void write() {
    for (size_t number = 0; number < beam_.count(); ++number) {
      const std::vector<Finished> best = beam_.best(number);
      numbers.push_back(static_cast<int32_t>(best.size()));
      for (const Finished& one : best) {
        numbers.push_back(static_cast<int32_t>(one.ids.size()));
        numbers.insert(numbers.end(), one.ids.begin(), one.ids.end());
        numbers.insert(numbers.end(), one.forced.begin(), one.forced.end());
        scores.push_back(one.logprob);
        scores.push_back(one.score);
      }
    }
  }

  const Network network_;
  const Settings settings_;
  const std::vector<Request> requests_;
  Layers layers_;
  Decoder decoder_;
  BeamSearch beam_;
  std::vector<Line> lines_;
  std::vector<BeamSearch::Scored> scored_;
  std::vector<int32_t> ids_;
  Floats hidden_, logits_, values_;
};

}  // namespace

// A search in *search, which waits for its first step. What the structures point to must stay until it is freed.
FENSTER_EXPORT int fenster_search_new(const Network* network, const Settings* settings, const Request* requests,
                                      int64_t count, int64_t most_lines, int threads, Search** search) {
  return guarded([&] {
    *search = new Search(*network, *settings, requests, count, most_lines, threads);
    return kMore;
  });
}

FENSTER_EXPORT int fenster_search_run(Search* search, int64_t milliseconds) {
  return guarded([&] { return search->run(milliseconds); });
}

FENSTER_EXPORT int fenster_search_logs(Search* search, float* out) {
  return guarded([&] { return search->logs(out); });
}

FENSTER_EXPORT int fenster_search_step(Search* search, const int64_t* parents, const int32_t* tokens, int64_t count) {
  return guarded([&] { return search->step(parents, tokens, count); });
}

// How much there is to read of a search that is done, and where.
FENSTER_EXPORT int64_t fenster_search_numbers(Search* search, const int32_t** numbers) {
  *numbers = search->numbers.data();
  return static_cast<int64_t>(search->numbers.size());
}

FENSTER_EXPORT int64_t fenster_search_scores(Search* search, const double** scores) {
  *scores = search->scores.data();
  return static_cast<int64_t>(search->scores.size());
}

FENSTER_EXPORT void fenster_search_free(Search* search) { delete search; }

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
