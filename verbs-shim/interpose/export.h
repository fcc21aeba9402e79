// A symbol of the library: all else is hidden, and verbs.map gives it its version.
#pragma once

#define MRC_EXPORT __attribute__((visibility("default")))
