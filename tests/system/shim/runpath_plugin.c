/* Nothing: it is only to be found. */
int mrc_found_by_runpath(void);
int mrc_found_by_runpath(void) {
  return 1;
}
