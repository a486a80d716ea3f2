"""Sessions for C and C++: headers, the runtime library's source, and what answers its calls."""
