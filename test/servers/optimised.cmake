# Compiles ggml with optimisation. The rest of stable-diffusion.cpp is compiled without it.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
