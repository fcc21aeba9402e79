// A pipe whose other side writes anything anywhere into it at any time: what is read lies inside of it, what is written
// too, and a side that finds invalid data ends the pipe permanently [MRC-LOCAL-2].
#include <cstring>

#include "datapath/local/pipe.h"
#include "fuzz_input.h"

namespace {

using namespace mrc;
using namespace mrc::datapath;
using fuzz::require;

struct Ends {
  std::unique_ptr<PipeWriter> writer = PipeWriter::make();
  std::unique_ptr<PipeReader> reader;
  PipeMapping view;
  const uint8_t* buffers = nullptr;  // as the reader has them mapped
};

void send(PipeWriter* writer, uint32_t bytes) {
  static uint8_t payload[65600];
  static core::TxBurst burst;
  burst.bytes = burst.segment_size = bytes;
  burst.segments = burst.iov_count = 1;
  burst.iov[0] = {payload, bytes};
  (void)writer->write(burst);
}

Ends make() {
  Ends e;
  require(e.writer != nullptr, "no memory");
  e.reader = PipeReader::map(e.writer->fd());
  e.view = PipeMapping(e.writer->fd());
  require(e.reader != nullptr && e.view.get() != nullptr, "cannot map");
  core::RxBurst r;
  send(e.writer.get(), 100);
  require(e.reader->read(&r, 1) == 1, "an honest burst is not read");
  e.buffers = r.data - pipe_place(e.view.get()->entries[0].buffer).offset;
  e.reader->give_back();
  return e;
}

void read(Ends* e, int max) {
  core::RxBurst bursts[PipeReader::kMaxLent];
  const int n = e->reader->read(bursts, max);
  require(n >= 0 && n <= max, "more than asked for");
  volatile uint8_t sink = 0;
  for (int i = 0; i < n; ++i) {
    const core::RxBurst& r = bursts[i];
    require(r.bytes > 0 && r.segment_size > 0 && r.segment_size <= r.bytes, "lengths");
    require(r.data >= e->buffers && r.data + r.bytes <= e->buffers + kPipeBufferBytes, "outside of the buffers");
    sink = static_cast<uint8_t>(sink + r.data[0] + r.data[r.bytes - 1]);
  }
}

// Half of the pokes hit the three counts, which decide most.
void poke(fuzz::Input* in, PipeMemory* m) {
  const uint8_t where = in->u8();
  const uint32_t value = where & 64 ? in->u32() : in->u8();
  std::atomic<uint32_t>* const counts[] = {&m->written, &m->returned, &m->asleep};
  if ((where & 128) != 0) {
    counts[where % 3]->fetch_add(value);
    return;
  }
  PipeEntry& entry = m->entries[in->u8()];
  uint32_t* const fields[] = {&entry.bytes, &entry.segment_size, &entry.buffer};
  if (where % 4 == 3)
    m->returns[in->u8()] = static_cast<uint16_t>(value);
  else
    *fields[where % 4] = value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Ends ends;
  if (ends.buffers == nullptr || ends.reader->broken() || ends.writer->broken()) ends = make();
  fuzz::Input in(data, size);
  while (!in.empty()) {
    const bool reader_was_broken = ends.reader->broken(), writer_was_broken = ends.writer->broken();
    switch (in.u8() % 6) {
      case 0:
      case 1:
        send(ends.writer.get(), in.u16() % 65536 + 1);
        break;
      case 2:
        read(&ends, 1 + in.u8() % 8);
        break;
      case 3:
        ends.reader->give_back();
        break;
      case 4:
        (void)ends.reader->fall_asleep();
        break;
      case 5:
        poke(&in, ends.view.get());
        break;
    }
    require(ends.reader->broken() || !reader_was_broken, "a broken pipe is read again");
    require(ends.writer->broken() || !writer_was_broken, "a broken pipe is written again");
  }
  ends.reader->give_back();
  return 0;
}
