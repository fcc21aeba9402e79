// A plain TCP network plugin for NCCL: one stream per connection, non-blocking, no threads. The baseline of
// nccl-net-bench, and a second plugin for its conformance tests beside ours.
//
// Protocol. The connecting side sends and begins with the cookie of the handle. The receiver announces each group of
// buffers (PostFrame) on the way back; the sender takes a member by its tag from the oldest group and sends
// DataFrame and payload. Without the announcements two groups could overtake each other in the one stream; they run
// ahead of the data, so they cost a stream with several receives posted nothing but 136 bytes each.
//
// Progress is made by isend, irecv and test of a connection, on the calling thread. Not thread-safe per connection.
#pragma once

#include <net_abi.h>

#include <cstdint>
#include <deque>
#include <vector>

namespace mrc::tcp_net {

inline constexpr int kMaxGroup = 8;
inline constexpr char kName[] = "TCP-baseline";

struct Comm;

struct Request {
  Comm* comm = nullptr;  // null: free
  int n = 0;
  int pending = 0;  // members that are not complete
  uint32_t seq = 0;
  bool is_send = false;
  char* data[kMaxGroup] = {};
  uint64_t capacity[kMaxGroup] = {};
  uint64_t sizes[kMaxGroup] = {};
};

struct PostFrame {
  uint32_t seq, n;
  struct Member {
    int32_t tag;
    uint32_t taken;  // zero on the wire; the sender's note
    uint64_t size;
  } members[kMaxGroup];
};
static_assert(sizeof(PostFrame) == 136);

struct DataFrame {
  uint32_t seq, member;
  uint64_t size;
};
static_assert(sizeof(DataFrame) == 16);

// Both directions of a connection; a side uses the members of its own role.
struct Comm {
  int fd = -1;
  ncclResult_t error = ncclSuccess;  // sticky: every later call returns it
  Request requests[NCCL_NET_MAX_REQUESTS];

  // Sender: groups that may be sent to, and what is being sent.
  struct Send {
    DataFrame header;
    Request* request;
    uint64_t written = 0;  // of header and payload together
  };
  std::deque<PostFrame> posts;
  std::deque<Send> sends;
  PostFrame incoming_post;
  size_t incoming_post_bytes = 0;

  // Receiver: announcements to be written, receives in the order of their numbers, the message that is being read.
  std::vector<char> outgoing;
  std::deque<Request*> receives;
  uint32_t next_seq = 0;
  DataFrame incoming;
  size_t incoming_bytes = 0;  // of the header
  uint64_t payload_read = 0;

  ~Comm();
  Request* free_request();
  ncclResult_t progress_send();
  ncclResult_t progress_receive();
  ncclResult_t fail(int error_number);

 private:
  ncclResult_t read_posts();
  ncclResult_t write_posts();
  Request* receive_of(uint32_t seq);
};

ncclResult_t listen(int device, void* handle, void** comm);
ncclResult_t connect(int device, void* handle, void** comm);
ncclResult_t accept(void* listen_comm, void** comm);
ncclResult_t close_listen(void* listen_comm);
ncclResult_t close(void* comm);
ncclResult_t isend(void* comm, void* data, uint64_t size, int tag, void** request);
ncclResult_t irecv(void* comm, int n, void** data, const uint64_t* sizes, const int* tags, void** request);
ncclResult_t test(void* request, int* done, int* sizes);

}  // namespace mrc::tcp_net
