//! One thread's event loop: tasks, sockets and gathered wake-ups.
