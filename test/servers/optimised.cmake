# Compiles the part of stable-diffusion.cpp that computes with optimisation, unlike the rest of it.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
