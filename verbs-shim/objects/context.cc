#include "objects/context.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "invariant.h"
#include "objects/base_qp.h"
#include "objects/device.h"
#include "objects/unknown_ops.h"
#include "objects/verbs_ops.h"
#include "progress/settle.h"
#include "settings/log.h"

namespace mrc::shim {

namespace {

Mutex open_mutex;
std::atomic<uint32_t> opened_in{UINT32_MAX};   // the last process that opened a device, as fork_count
std::atomic<uint32_t> settled_in{UINT32_MAX};  // the one that has settled all of them
std::vector<Context*>& open_contexts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(open_mutex) {
  static auto* contexts = new std::vector<Context*>;  // never destroyed: programs close devices while they exit
  return *contexts;
}

}  // namespace

bool Context::is_ours(const ibv_context* context) {
  return context != nullptr && context->ops.poll_cq == &poll_cq_op;
}

Context* Context::of(const ibv_context* context) {
  constexpr size_t kOffset = offsetof(Handle, verbs) + offsetof(verbs_context, context);
  return reinterpret_cast<const Handle*>(reinterpret_cast<const char*>(context) - kOffset)->self;
}

Context::Context(const Provider& api, ibv_device* device, ibv_context* soft)
    : device_(api, soft), pump_queue_(api), keys_(api.mrc_soft_guarded_access) {
  fill_handle(device);
}

Context::~Context() {
  stop_progress();
  if (verbs()->cmd_fd >= 0) ::close(verbs()->cmd_fd);
  pthread_mutex_destroy(&verbs()->mutex);
}

void Context::fill_handle(ibv_device* device) {
  std::memset(static_cast<void*>(&handle_), 0, sizeof handle_);
  handle_.self = this;
  handle_.verbs.sz = sizeof handle_.verbs;
  handle_.verbs.priv = unknown_ops();
  ibv_context* const c = verbs();
  c->device = device;
  // Programs duplicate it to share the device with another process, which ibv_import_device() then refuses. It is open
  // without access: libibverbs cannot send it anything if it gets one of our contexts (EBADF). [VRB-REF-1]
  c->cmd_fd = ::open("/dev/null", O_PATH | O_CLOEXEC);
  c->async_fd = async.fd();
  c->num_comp_vectors = soft()->num_comp_vectors;
  c->abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&c->mutex, nullptr);
  fill_ops(&handle_.verbs);
}

bool Context::start() {
  if (!device_.create_context() || !pump_queue_.make(mrc(), this)) return false;
  fcntl(soft()->async_fd, F_SETFL, fcntl(soft()->async_fd, F_GETFL) | O_NONBLOCK);
  return api().mrc_soft_add_context_handle(soft(), verbs()) == 0;
}

Context* Context::open(ibv_device* device) {
  const Provider* api = provider();
  if (api == nullptr) {
    errno = ENODEV;
    return nullptr;
  }
  ibv_context* const soft = api->mrc_soft_open_device(soft_device(device));
  if (soft == nullptr) {
    log_error("ibv_open_device", "%s: %s", device->name, std::strerror(errno));
    return nullptr;
  }
  // libmrc stops its devices at exit, by a handler that the first of them has registered: this one runs before it.
  [[maybe_unused]] static const int registered = std::atexit(settle_all);
  auto* context = new Context(*api, device, soft);
  if (!context->start()) {
    const int error = errno;
    delete context;
    errno = error;
    return nullptr;
  }
  const MutexLock lock(open_mutex);
  opened_in.store(fork_count.load());
  open_contexts().push_back(context);
  return context;
}

void Context::settle() {
  shim::settle(this, [this] { return settled(); });
}

// Another thread may destroy queue pairs at the same time.
void Context::abandon() {
  const MutexLock lock(pump_mutex_);
  qps_.for_each([](BaseQp* qp) { qp->abandon(); });
}

// The kernel ends the queue pairs of a device that is closed. In the error state they refuse what the peers send;
// otherwise MRC would go on to acknowledge messages that no thread serves any more. [VRB-END-2]
void Context::disconnect() {
  std::vector<BaseQp*> all;
  {
    const MutexLock lock(pump_mutex_);
    qps_.for_each([&all](BaseQp* qp) { all.push_back(qp); });
  }
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  for (BaseQp* qp : all) qp->modify(error, IBV_QP_STATE);
}

int Context::close(Context* context) {
  context->settle();
  if (const int error = context->api().mrc_soft_remove_context_handle(context->verbs())) {
    log_error("ibv_close_device", "%s: an MRC context of it still exists; mrc_destroy_context comes first",
              context->verbs()->device->name);
    return error;
  }
  {
    const MutexLock lock(open_mutex);
    auto& all = open_contexts();
    all.erase(std::remove(all.begin(), all.end(), context), all.end());
  }
  if (context->children_.load() == 0) {
    delete context;
    return 0;
  }
  // libibverbs closes nevertheless and leaves the rest to the kernel. Objects held by the application stay valid.
  context->disconnect();
  context->stop_progress();
  log_info("ibv_close_device: %s had %d objects left", context->verbs()->device->name, context->children_.load());
  return 0;
}

// A child of fork without devices of its own leaves the lock alone, which its parent may have held.
void Context::settle_all() {
  if (opened_in.load() != fork_count.load() || settled_in.exchange(fork_count.load()) == fork_count.load()) return;
  const MutexLock lock(open_mutex);
  for (Context* context : open_contexts()) {
    if (context->inherited()) continue;
    context->settle();
    context->abandon();  // [VRB-RSP-11]
    context->settle();
  }
}

uint32_t Context::add(BaseQp* qp, uint32_t completions) {
  const MutexLock lock(pump_mutex_);
  const uint32_t id = qps_.free_id();
  deferred_.reserve(qps_.ids());
  if (const int error = reserve(completions)) {
    errno = error;
    return UINT32_MAX;
  }
  qps_.set(id, qp);
  check();
  return id;
}

int Context::reserve(uint32_t completions) {
  return room_.reserve(completions, [this](uint64_t entries) { return pump_queue_.resize(entries); });
}

void Context::remove(uint32_t id, uint32_t completions) {
  unreserve(completions);
  deferred_.remove(qps_.remove(id));
  check();
}

// Queue pairs are among the objects that must end before the context, and no timer ends that had not begun.
void Context::check() const {
  if constexpr (!kCheckInvariants) return;
  room_.check();
  const int children = children_.load(), timers = timers_.load();
  MRC_INVARIANT(children >= 0 && static_cast<size_t>(children) >= qps_.count());
  MRC_INVARIANT(timers >= 0);
}

void Context::add_number(uint32_t qpn, BaseQp* qp) {
  const MutexLock lock(pump_mutex_);
  qps_.set_number(qpn, qp);
}

void Context::start_progress() {
  progress_.start(this);
}

void Context::stop_progress() {
  std::unique_ptr<ProgressThread> ended;  // joined without the lock, which it takes
  const MutexLock lock(pump_mutex_);
  ended = progress_.stop();
}

void Context::wake_progress() {
  if (activity_.sleepers() > 0) return;
  if (ProgressThread* const progress = progress_.get()) progress->wake(activity_.slept_last());
}

void Context::begin_wait() {
  activity_.begin_wait();
  if (ProgressThread* const progress = progress_.get()) progress->wake_if_asleep();
}

// The progress thread looks soon from now on.
void Context::end_wait() {
  activity_.end_wait();
  if (ProgressThread* const progress = progress_.get()) progress->wake(/*sleeper=*/true);
}

}  // namespace mrc::shim
