//! Lets Tauri generate its context, but only when the window is part of the build.

fn main() {
    #[cfg(feature = "desktop")]
    desktop::build();
}

#[cfg(feature = "desktop")]
mod desktop {
    pub(super) fn build() {
        // Two commands exist; declaring them makes Tauri deny them to every window that no capability names.
        let manifest = tauri_build::AppManifest::new().commands(&["rpc", "subscribe"]);
        let attributes = tauri_build::Attributes::new()
            .app_manifest(manifest)
            .capabilities_path_pattern("./src-tauri/capabilities/**/*");
        if let Err(error) = tauri_build::try_build(attributes) {
            // Cargo shows the first line only.
            println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
        }
    }
}
