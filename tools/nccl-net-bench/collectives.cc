#include "collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace mrc::net_bench {

namespace {

// Cuts [data, data + size) into slices of the job's length, at least one even if it is empty.
template <typename Emit>
void slices(char* data, size_t size, size_t slice, Emit emit) {
  size_t at = 0;
  do {
    const size_t n = std::min(slice, size - at);
    emit(data + at, n);
    at += n;
  } while (at < size);
}

std::vector<int> others(const Rank& rank) {
  std::vector<int> all;
  for (int i = 1; i < rank.ranks(); ++i) all.push_back((rank.rank() + i) % rank.ranks());
  return all;
}

size_t slice_of(Rank& rank) {
  return rank.job().at("slice").get<size_t>();
}

// Bytes from each of `from` to this rank and from this rank to each of `to`: p2p, send/recv and all-to-all differ only
// in these two lists.
class Direct : public Collective {
 public:
  Direct(Rank& rank, std::vector<int> to, std::vector<int> from, bool divided)
      : Collective(rank), to_(std::move(to)), from_(std::move(from)), divided_(divided) {
    links_ = std::make_unique<Links>(rank, to_, from_);
  }
  double factor() const override { return divided_ ? static_cast<double>(rank_.ranks() - 1) / rank_.ranks() : 1; }
  void prepare(size_t bytes) override {
    memory_.clear();
    part_ = divided_ ? bytes / static_cast<size_t>(rank_.ranks()) : bytes;
    input_.resize(std::max<size_t>(1, part_ * to_.size()));
    output_.resize(std::max<size_t>(1, part_ * from_.size()));
    schedule_ = {};
    schedule_.depth = rank_.job().at("depth");
    for (size_t k = 0; k < to_.size(); ++k) {
      char* const data = input_.data() + k * part_;
      for (size_t i = 0; i < part_; ++i) data[i] = static_cast<char>(pattern(rank_.rank(), to_[k], i));
      void* const comm = links_->send_to(to_[k]);
      memory_.emplace_back(rank_.net(), comm, input_.data(), input_.size());
      SendFlow f{comm, memory_.back().handle(), nullptr, nullptr, 0, {}};
      slices(data, part_, slice_of(rank_), [&](char* at, size_t n) { f.messages.push_back({at, n}); });
      schedule_.sends.push_back(std::move(f));
    }
    for (size_t k = 0; k < from_.size(); ++k) {
      void* const comm = links_->receive_from(from_[k]);
      memory_.emplace_back(rank_.net(), comm, output_.data(), output_.size());
      ReceiveFlow f{comm, memory_.back().handle(), nullptr, nullptr, 0, {}};
      slices(output_.data() + k * part_, part_, slice_of(rank_), [&](char* at, size_t n) {
        f.messages.push_back({at, n});
      });
      schedule_.receives.push_back(std::move(f));
    }
  }
  void clear() override {
    for (size_t k = 0; k < from_.size(); ++k)
      for (size_t i = 0; i < part_; ++i)
        output_[k * part_ + i] = static_cast<char>(~pattern(from_[k], rank_.rank(), i));
  }
  uint64_t count_wrong() override {
    uint64_t wrong = 0;
    for (size_t k = 0; k < from_.size(); ++k)
      for (size_t i = 0; i < part_; ++i)
        wrong += static_cast<unsigned char>(output_[k * part_ + i]) != pattern(from_[k], rank_.rank(), i);
    return wrong;
  }

 private:
  std::vector<int> to_, from_;
  bool divided_;
  size_t part_ = 0;
  std::vector<char> input_, output_;
};

// Common to the two rings: message number step * slices + k of a step is slice k of that step's chunk, and may be sent
// once the same slice has arrived with the step before.
class Ring : public Collective {
 public:
  explicit Ring(Rank& rank) : Collective(rank), n_(static_cast<size_t>(rank.ranks())) {
    next_ = (rank.rank() + 1) % rank.ranks();
    previous_ = (rank.rank() + rank.ranks() - 1) % rank.ranks();
    links_ = std::make_unique<Links>(rank, std::vector{next_}, std::vector{previous_});
  }

 protected:
  // Index of the chunk `back` positions before this rank's.
  size_t chunk_before(size_t back) const { return (static_cast<size_t>(rank_.rank()) + 2 * n_ - back) % n_; }
  void add_sends(SendFlow& f, char* data, size_t chunk, size_t step) {
    const size_t each = (chunk + slice_of(rank_) - 1) / slice_of(rank_), count = std::max<size_t>(1, each);
    size_t k = 0;
    slices(data, chunk, slice_of(rank_), [&](char* at, size_t size) {
      if (step == 0)
        f.messages.push_back({at, size});
      else
        f.messages.push_back({at, size, 0, (step - 1) * count + k + 1});
      ++k;
    });
  }
  size_t n_;
  int next_, previous_;
};

class AllGather final : public Ring {
 public:
  using Ring::Ring;
  double factor() const override { return static_cast<double>(n_ - 1) / static_cast<double>(n_); }
  void prepare(size_t bytes) override {
    memory_.clear();
    chunk_ = bytes / n_;
    data_.resize(std::max<size_t>(1, bytes));
    void* const out = links_->send_to(next_);
    void* const in = links_->receive_from(previous_);
    memory_.emplace_back(rank_.net(), out, data_.data(), data_.size());
    memory_.emplace_back(rank_.net(), in, data_.data(), data_.size());
    SendFlow s{out, memory_[0].handle(), nullptr, nullptr, 0, {}};
    ReceiveFlow r{in, memory_[1].handle(), nullptr, nullptr, 0, {}};
    for (size_t step = 0; step + 1 < n_; ++step) {
      add_sends(s, data_.data() + chunk_before(step) * chunk_, chunk_, step);
      slices(data_.data() + chunk_before(step + 1) * chunk_, chunk_, slice_of(rank_), [&](char* at, size_t size) {
        r.messages.push_back({at, size});
      });
    }
    schedule_ = {rank_.job().at("depth").get<size_t>(), {std::move(s)}, {std::move(r)}};
  }
  void clear() override {
    for (size_t c = 0; c < n_; ++c)
      for (size_t i = 0; i < chunk_; ++i) {
        const unsigned char right = pattern(static_cast<int>(c), 0, i);
        data_[c * chunk_ + i] = static_cast<char>(c == static_cast<size_t>(rank_.rank()) ? right : ~right);
      }
  }
  uint64_t count_wrong() override {
    uint64_t wrong = 0;
    for (size_t c = 0; c < n_; ++c)
      for (size_t i = 0; i < chunk_; ++i)
        wrong += static_cast<unsigned char>(data_[c * chunk_ + i]) != pattern(static_cast<int>(c), 0, i);
    return wrong;
  }

 private:
  size_t chunk_ = 0;
  std::vector<char> data_;
};

// Reduce-scatter, then all-gather, out of place. The values are small whole numbers, so that their sum in float is
// exact in any order. Partial sums arrive in scratch slots; the sums of the second half go straight into place.
class AllReduce final : public Ring {
 public:
  using Ring::Ring;
  double factor() const override { return 2.0 * static_cast<double>(n_ - 1) / static_cast<double>(n_); }
  void prepare(size_t bytes) override {
    memory_.clear();
    const size_t count = bytes / sizeof(float), chunk = bytes / n_;
    const size_t depth = rank_.job().at("depth"),
                 slot = std::max<size_t>(sizeof(float), std::min(chunk, slice_of(rank_)));
    input_.resize(std::max<size_t>(1, count));
    sum_.resize(std::max<size_t>(1, count));
    count_ = count;
    scratch_.resize(depth * slot / sizeof(float));
    for (size_t i = 0; i < count; ++i) input_[i] = value(rank_.rank(), i);
    void* const out = links_->send_to(next_);
    void* const in = links_->receive_from(previous_);
    char* const input = reinterpret_cast<char*>(input_.data());
    char* const sum = reinterpret_cast<char*>(sum_.data());
    char* const scratch = reinterpret_cast<char*>(scratch_.data());
    memory_.emplace_back(rank_.net(), out, sum, sum_.size() * sizeof(float));
    memory_.emplace_back(rank_.net(), out, input, input_.size() * sizeof(float));
    memory_.emplace_back(rank_.net(), in, sum, sum_.size() * sizeof(float));
    memory_.emplace_back(rank_.net(), in, scratch, scratch_.size() * sizeof(float));
    SendFlow s{out, memory_[0].handle(), memory_[1].handle(), input, input_.size() * sizeof(float), {}};
    ReceiveFlow r{in, memory_[2].handle(), scratch, memory_[3].handle(), slot, {}};
    for (size_t step = 0; step < 2 * (n_ - 1); ++step) {
      add_sends(s, (step == 0 ? input : sum) + chunk_before(step) * chunk, chunk, step);
      const size_t at_chunk = chunk_before(step + 1) * chunk;
      slices(sum + at_chunk, chunk, slice_of(rank_), [&](char* at, size_t size) {
        const bool reduces = step + 1 < n_;
        r.messages.push_back({at, size, reduces ? reinterpret_cast<float*>(input + (at - sum)) : nullptr});
      });
    }
    schedule_ = {depth, {std::move(s)}, {std::move(r)}};
  }
  void clear() override { std::fill(sum_.begin(), sum_.end(), -1.0f); }
  uint64_t count_wrong() override {
    uint64_t wrong = 0;
    for (size_t i = 0; i < count_; ++i) {
      float right = 0;
      for (int r = 0; r < rank_.ranks(); ++r) right += value(r, i);
      wrong += sum_[i] != right;
    }
    return wrong;
  }

 private:
  static float value(int rank, size_t index) {
    return static_cast<float>((index * 7 + static_cast<size_t>(rank) * 13 + (index >> 9)) % 61);
  }
  size_t count_ = 0;
  std::vector<float> input_, sum_, scratch_;
};

}  // namespace

const std::vector<std::string>& Collective::names() {
  static const std::vector<std::string> all{"p2p", "all-reduce", "all-gather", "all-to-all", "send-recv"};
  return all;
}

size_t Collective::unit(const std::string& name, int ranks) {
  const auto n = static_cast<size_t>(ranks);
  if (name == "all-reduce") return n * sizeof(float);
  return name == "all-gather" || name == "all-to-all" ? n : 1;
}

std::unique_ptr<Collective> Collective::make(const std::string& name, Rank& rank) {
  const int r = rank.rank(), n = rank.ranks();
  if (name == "all-reduce") return std::make_unique<AllReduce>(rank);
  if (name == "all-gather") return std::make_unique<AllGather>(rank);
  if (name == "all-to-all") return std::make_unique<Direct>(rank, others(rank), others(rank), true);
  if (name == "send-recv")
    return std::make_unique<Direct>(rank, std::vector{(r + 1) % n}, std::vector{(r + n - 1) % n}, false);
  // p2p: every even rank sends to the odd one after it.
  std::vector<int> to, from;
  if (r % 2 == 0 && r + 1 < n) to.push_back(r + 1);
  if (r % 2 == 1) from.push_back(r - 1);
  return std::make_unique<Direct>(rank, to, from, false);
}

void Collective::run() {
  schedule_.run(rank_);
}

void Collective::close() {
  memory_.clear();
  links_->close();
}

}  // namespace mrc::net_bench
