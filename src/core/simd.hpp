// Loops that the compiler turns into vector instructions, on any processor.
//
// ORDBRIDGE_CLONES compiles a function three times, for every x86-64, for those with AVX2 and FMA and for those with
// AVX-512, and takes the best one that the machine has (GCC 12 or later on Linux with glibc; elsewhere there is one
// version). ORDBRIDGE_INLINE is for what such a function calls: it must become part of it to be compiled so as well.
#pragma once

#include <cstddef>  // says whether this is glibc

#if defined(__x86_64__) && defined(__GLIBC__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(ORDBRIDGE_PLAIN)
#define ORDBRIDGE_HAS_CLONES
#define ORDBRIDGE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ORDBRIDGE_CLONES
#endif

#define ORDBRIDGE_INLINE inline __attribute__((always_inline))
