/* Gives objects of the shim to the functions of the real libibverbs, as happens when a program calls one that is newer
 * than the shim, or takes functions from both: they answer that this is not supported, and nothing crashes. Lists of
 * devices are freed by either.
 *
 * Linked with libibverbs, without preload. usage: unknown_names /path/libmrc-verbs.so */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port
#undef ibv_get_device_list

#define FAIL(...) (fprintf(stderr, __VA_ARGS__), exit(1))

static void* library;
#define SHIM(name) ((__typeof__(name)*)dlsym(library, #name))

#define CHECK(what)                                                        \
  do {                                                                     \
    if (!(what)) FAIL("line %d: %s (errno %d)\n", __LINE__, #what, errno); \
    errno = 0;                                                             \
  } while (0)
#define REFUSED(what) CHECK((what) && errno == EOPNOTSUPP)

int main(int argc, char** argv) {
  if (argc != 2 || (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL)
    FAIL("%s\n", argc == 2 ? dlerror() : "usage: unknown_names LIBRARY");
  int n = 0;
  struct ibv_device** list = SHIM(ibv_get_device_list)(&n);
  CHECK(list != NULL && n > 0);
  struct ibv_context* ctx = SHIM(ibv_open_device)(list[n - 1]);
  CHECK(ctx != NULL);
  struct ibv_pd* pd = SHIM(ibv_alloc_pd)(ctx);
  struct ibv_cq* cq = SHIM(ibv_create_cq)(ctx, 4, NULL, NULL, 0);
  static char memory[4096];
  struct ibv_mr* mr = SHIM(ibv_reg_mr)(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = SHIM(ibv_create_qp)(pd, &init);
  CHECK(pd != NULL && cq != NULL && mr != NULL && qp != NULL);

  REFUSED(ibv_alloc_pd(ctx) == NULL);
  REFUSED(ibv_reg_mr(pd, memory, sizeof memory, 0) == NULL);
  REFUSED(ibv_reg_mr_iova2(pd, memory, sizeof memory, 0, 0) == NULL);
  REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0) == NULL);
  REFUSED(ibv_create_cq(ctx, 4, NULL, NULL, 0) == NULL);
  struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
  REFUSED(ibv_create_srq(pd, &srq) == NULL);
  REFUSED(ibv_create_qp(pd, &init) == NULL);
  struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1};
  REFUSED(ibv_create_ah(pd, &ah) == NULL);
  REFUSED(ibv_import_mr(pd, 1) == NULL);
  /* Those that return an error number: check errno. */
  struct ibv_device_attr device;
  ibv_query_device(ctx, &device);
  CHECK(errno == EOPNOTSUPP);
  struct ibv_port_attr port;
  ibv_query_port(ctx, 1, (struct _compat_ibv_port_attr*)&port);
  CHECK(errno == EOPNOTSUPP);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
  ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0);
  ibv_resize_cq(cq, 8);
  ibv_attach_mcast(qp, &ah.grh.dgid, 0);
  struct ibv_ece ece = {0};
  ibv_set_ece(qp, &ece);
  ibv_query_ece(qp, &ece);

  CHECK(SHIM(ibv_destroy_qp)(qp) == 0 && SHIM(ibv_destroy_cq)(cq) == 0 && SHIM(ibv_dereg_mr)(mr) == 0 &&
        SHIM(ibv_dealloc_pd)(pd) == 0 && SHIM(ibv_close_device)(ctx) == 0);
  ibv_free_device_list(list);
  SHIM(ibv_free_device_list)(SHIM(ibv_get_device_list)(&n));
  /* libibverbs' own; null where the kernel has no RDMA. */
  SHIM(ibv_free_device_list)(ibv_get_device_list(&n));
  puts("refused");
  return 0;
}
