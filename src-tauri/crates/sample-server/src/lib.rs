//! sample-server
