//! Tests against programs that nobody here wrote: servers from npm over stdio, and a real language model.
