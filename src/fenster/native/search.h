// Requests that are searched together: their hypotheses go through the decoder at once, a token at a time.

#pragma once

#include <chrono>

#include "beam.h"
#include "status.h"

namespace {

constexpr size_t kScored = 48;          // hypotheses whose logits are in memory at once
constexpr double kChoiceWork = 100000;  // logits that are worth a thread of their own

class Search {
 public:
  Search(const Network& network, const Settings& settings, std::vector<Request> requests, long most_lines, int threads)
      : network_(network), settings_(settings), requests_(std::move(requests)), layers_(network_, threads),
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
    decoder_.prefill(sources, targets, states, spans, settings_.focus != 0, false, hidden_, [](long, const Seen&) {});
    lines_ = beam_.lines();
  }

  // Steps for about so many milliseconds.
  Status run(long milliseconds) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
    do {
      choose();
      lines_ = beam_.lines();
      if (lines_.empty()) return kDone;
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

  // The hypotheses of a request, best first.
  std::vector<Finished> best(size_t number) { return beam_.best(number); }

  void set_threads(int threads) { layers_.threads = threads; }

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
