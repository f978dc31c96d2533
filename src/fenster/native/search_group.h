// Many requests on many threads: each thread searches its share of them by itself, so that they meet only at the end.
//
// A request's result does not depend on those beside it, so shares change no bit.

#pragma once

#include <map>
#include <memory>

#include "search.h"

namespace {

class SearchGroup {
 public:
  // `shares` at most; requests that share a memory stay together.
  SearchGroup(const Network& network, const Settings& settings, const Request* requests, long count, long most_lines,
              int threads, long shares)
      : threads_(threads) {
    std::vector<std::vector<Request>> dealt = deal(requests, count, shares);
    searches_.resize(dealt.size());
    for (size_t n = 0; n < dealt.size(); ++n) busy_.push_back(n);
    side_by_side(dealt.size(), [&](size_t n, int own_threads) {
      searches_[n] = std::make_unique<Search>(network, settings, std::move(dealt[n]), most_lines, own_threads);
    });
  }

  // Steps of all for about so many milliseconds.
  Status run(long milliseconds) {
    std::vector<Status> ended(busy_.size(), kMore);
    side_by_side(busy_.size(), [&](size_t n, int own_threads) {
      searches_[busy_[n]]->set_threads(own_threads);
      ended[n] = searches_[busy_[n]]->run(milliseconds);
    });
    size_t left = 0;
    for (size_t n = 0; n < ended.size(); ++n)
      if (ended[n] == kMore) busy_[left++] = busy_[n];
    busy_.resize(left);
    if (left) return kMore;
    write();
    return kDone;
  }

  // For those who step by themselves.
  Search& only() { return *searches_.front(); }

  // Of each request the number of its hypotheses; of each of those its length, its tokens, and the sentences ended by
  // force.
  std::vector<int32_t> numbers;
  std::vector<double> scores;  // of each hypothesis its log-probability and its score

 private:
  struct Place {
    size_t share, number;  // which of the share's requests
  };

  // The longest first, each to the share that has least to do. None is empty.
  std::vector<std::vector<Request>> deal(const Request* requests, long count, long shares) {
    const auto work = [&](long n) {
      return std::accumulate(requests[n].max_tokens, requests[n].max_tokens + requests[n].count, int64_t{1});
    };
    std::vector<long> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](long a, long b) { return work(a) > work(b); });
    places_.resize(static_cast<size_t>(count));
    std::vector<std::vector<Request>> dealt;
    std::vector<int64_t> load;
    std::map<const EncoderMemory*, size_t> with_memory;
    for (const long n : order) {
      const EncoderMemory* memory = requests[n].source.memory;
      const auto known = memory ? with_memory.find(memory) : with_memory.end();
      size_t share = dealt.size();
      if (known != with_memory.end())
        share = known->second;
      else if (static_cast<long>(dealt.size()) == shares)
        share = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
      if (share == dealt.size()) {
        dealt.emplace_back();
        load.push_back(0);
      }
      if (memory) with_memory[memory] = share;
      places_[n] = {share, dealt[share].size()};
      dealt[share].push_back(requests[n]);
      load[share] += work(n);
    }
    return dealt;
  }

  // work(n, threads) for all n < count, which share the threads.
  template <typename Work>
  void side_by_side(size_t count, const Work& work) {
    if (count == 1) return work(0, threads_);
    Pool::current().run(static_cast<long>(count), [&](long n) {
      const Pool::Leading team(n);
      work(static_cast<size_t>(n), std::max(1, threads_ / static_cast<int>(count)));
    });
  }

  void write() {
    for (const Place& place : places_) {
      const std::vector<Finished> best = searches_[place.share]->best(place.number);
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

  const int threads_;
  std::vector<Place> places_;  // of the requests
  std::vector<std::unique_ptr<Search>> searches_;
  std::vector<size_t> busy_;  // those that are not done
};

}  // namespace
