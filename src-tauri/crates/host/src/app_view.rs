//! app_view
