# The version of this tree, from the one place that has it.
tree_version() {  # tree_version ROOT
  sed -n 's/^project(mrc VERSION \([0-9.]*\) .*/\1/p' "$1/CMakeLists.txt"
}
