// Owns the precompiled header of the tools; see tools/CMakeLists.txt. It is not run.
int main() {
  return 0;
}
