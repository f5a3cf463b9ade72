//! Tests of what the command line writes.
