// QpList: an intrusive list of QPs through one of their links. A QP that is in the list stays where it is when it is
// added again.
#pragma once

#include "core/qp_context.h"
#include "invariant.h"

namespace mrc::core {

template <QpLink QpContext::*kLink>
class QpList {
 public:
  void push_back(QpContext* qp) {
    QpLink& l = qp->*kLink;
    if (l.linked) return;
    l = {tail_, nullptr, true};
    (tail_ != nullptr ? (tail_->*kLink).next : head_) = qp;
    tail_ = qp;
  }
  void remove(QpContext* qp) {
    QpLink& l = qp->*kLink;
    if (!l.linked) return;
    (l.prev != nullptr ? (l.prev->*kLink).next : head_) = l.next;
    (l.next != nullptr ? (l.next->*kLink).prev : tail_) = l.prev;
    l = {};
  }
  QpContext* front() const { return head_; }
  bool empty() const { return head_ == nullptr; }
  // Members are linked in both directions, from the first to the last.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    const QpContext* before = nullptr;
    for (const QpContext* qp = head_; qp != nullptr; qp = (qp->*kLink).next) {
      MRC_INVARIANT((qp->*kLink).linked && (qp->*kLink).prev == before);
      before = qp;
    }
    MRC_INVARIANT(before == tail_);
  }

 private:
  QpContext* head_ = nullptr;
  QpContext* tail_ = nullptr;
};

}  // namespace mrc::core
