//! Plans and their execution on the CPU.
