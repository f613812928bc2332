//! Keeps the C library's allocator from holding memory that nothing uses.
//!
//! glibc gives threads arenas of their own, and what was freed in one is not used by another: a run of several trials, each with
//! its threads, took twice the memory that was ever in use (docs/results/cost.md). Other C libraries have one heap.

/// All threads share one arena. To be called before there are any.
pub fn share_one_arena() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    // SAFETY: mallopt() takes two numbers, and may be called at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Gives what is free back to the kernel. This takes milliseconds.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)]
    // SAFETY: malloc_trim() takes a number, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
