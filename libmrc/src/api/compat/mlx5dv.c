/* Programs that load an NVIDIA MRC library query it whether a device is an mlx5 one before they use mlx5's own
 * extensions. Ours never is. The declaration of infiniband/mlx5dv.h is repeated, so that the header is not needed to
 * build.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

bool mlx5dv_is_supported(struct ibv_device* device);

bool mlx5dv_is_supported(struct ibv_device* device) {
  (void)device;
  return false;
}
