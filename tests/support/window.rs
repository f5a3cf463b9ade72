//! Drives the built application in a real window: a display of its own, `tauri-driver`, and a WebDriver session.
//!
//! Every wait polls for a condition and is bounded; nothing sleeps for luck. What was started is ended by its process group, and
//! nothing else is touched. Deliberately absent: knowledge of what the window shows; the tests have it.

mod display;
mod process;

use std::{
    env, fs,
    future::Future,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use fantoccini::{Client, ClientBuilder, Locator, elements::Element};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::{display::Display, process::Driver};

/// How long a condition may take to come true on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// Makes the page paint for two seconds without a change that can be seen. The driver takes its picture at the next painting, and on
/// an idle page that may never come.
const KEEP_PAINTING: &str = "
    const dot = document.createElement('i');
    Object.assign(dot.style, { position: 'fixed', inset: '0 auto auto 0', width: '1px', height: '1px', opacity: 0.01 });
    document.body.append(dot);
    const end = performance.now() + 2000;
    const paint = (now) => {
      dot.style.background = dot.style.background === 'black' ? 'white' : 'black';
      if (now < end) requestAnimationFrame(paint); else dot.remove();
    };
    requestAnimationFrame(paint);";

/// How a window is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Data that an earlier window left. Without it, an empty folder that goes with the window.
    pub data_dir: Option<PathBuf>,
    /// More of the environment of the application.
    pub env: Vec<(String, String)>,
}

/// The application in a window, and a session that drives it.
pub struct Window {
    client: Client,
    data_dir: PathBuf,
    // Ended in this order: the application and its driver, its display, its data.
    driver: Driver,
    _display: Display,
    _temporary: Option<TempDir>,
}

impl Window {
    /// Opens the application on an empty data folder and waits until its page has loaded.
    ///
    /// # Errors
    /// When the built application, a driver or the display server is missing: the message says which and what to do.
    pub async fn open() -> anyhow::Result<Self> {
        Self::open_with(Options::default()).await
    }

    /// Opens the application as asked.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_with(options: Options) -> anyhow::Result<Self> {
        Self::open_program(&binary()?, options).await
    }

    /// Opens the test build, whose page can be driven as a host under test ([`crate::host_interface`]).
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_test_build(options: Options) -> anyhow::Result<Self> {
        Self::open_program(&test_build()?, options).await
    }

    /// Opens a program that stands for the built application, such as one that starts it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_program(binary: &Path, options: Options) -> anyhow::Result<Self> {
        let temporary = match options.data_dir {
            None => Some(TempDir::new()?),
            Some(_) => None,
        };
        let data_dir = match (&temporary, options.data_dir) {
            (Some(dir), _) => dir.path().to_owned(),
            (None, Some(dir)) => dir,
            (None, None) => bail!("a data folder was neither given nor made"),
        };
        let display = Display::start()?;
        let mut environment = options.env;
        environment.push(("USHER_DATA_DIR".to_owned(), data_dir.display().to_string()));
        let driver = Driver::start(&display, &environment).await?;
        let client = connect(&driver, binary).await?;
        let window = Self { client, data_dir, driver, _display: display, _temporary: temporary };
        window
            .until("the page has loaded", async || {
                Ok(window.run("return document.readyState").await? == "complete")
            })
            .await?;
        Ok(window)
    }

    /// The session, for what is not offered here.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The folder with the application's data.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// How much memory the application, its web view and their driver take, in bytes: the sum of their proportional shares.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn memory(&self) -> anyhow::Result<u64> {
        self.driver.memory()
    }

    /// Runs a script in the current frame and gives what it returns.
    ///
    /// # Errors
    /// What the script throws.
    pub async fn run(&self, script: &str) -> anyhow::Result<Value> {
        self.client().execute(script, vec![]).await.with_context(|| format!("in the window: {script}"))
    }

    /// Waits until the condition holds.
    ///
    /// # Errors
    /// After half a minute, naming the condition, or when looking at it fails.
    pub async fn until(
        &self,
        what: &str,
        mut condition: impl AsyncFnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        while !condition().await? {
            if start.elapsed() > PATIENCE {
                self.screenshot("timeout").await.ok();
                bail!("waited {} s in vain until {what}", PATIENCE.as_secs());
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Waits for an element.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn element(&self, css: &str) -> anyhow::Result<Element> {
        let mut found = None;
        self.until(&format!("there is an element {css}"), async || {
            // The page may draw between two questions, so what was found is what is given.
            found = self.client().find_all(Locator::Css(css)).await?.into_iter().next();
            Ok(found.is_some())
        })
        .await?;
        found.with_context(|| format!("the element {css}"))
    }

    /// Clicks an element, as soon as there is one that takes it: the page may draw it anew between finding and clicking.
    ///
    /// # Errors
    /// When none comes, or none takes the click.
    pub async fn click(&self, css: &str) -> anyhow::Result<()> {
        self.until(&format!("{css} takes a click"), async || {
            Ok(match self.client().find(Locator::Css(css)).await {
                Ok(element) => element.click().await.is_ok(),
                Err(_) => false,
            })
        })
        .await
    }

    /// Waits until the text stands in an element.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn text_in(&self, css: &str, text: &str) -> anyhow::Result<()> {
        let script = "return [...document.querySelectorAll(arguments[0])].some(e => e.textContent.includes(arguments[1]))";
        self.until(&format!("{css} says \"{text}\""), async || {
            Ok(self.client().execute(script, vec![json!(css), json!(text)]).await? == true)
        })
        .await
    }

    /// Everything that the current document holds, shown or hidden: where a canary of another audience must not be.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn document(&self) -> anyhow::Result<String> {
        let value = self.run("return document.documentElement.outerHTML").await?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    /// Runs `inside` in the frame of a View, then goes back to the page. The driver enters sandboxed frames of another origin.
    ///
    /// # Errors
    /// When there is no such frame, or what `inside` says.
    pub async fn in_view<T>(
        &self,
        css: &str,
        inside: impl Future<Output = anyhow::Result<T>>,
    ) -> anyhow::Result<T> {
        self.element(css).await?.enter_frame().await.with_context(|| format!("entering the frame {css}"))?;
        // The View stands in the frame of a page of its own origin.
        let within = self.element("iframe").await;
        let result = match within {
            Ok(frame) => {
                frame.enter_frame().await.with_context(|| format!("entering the View in {css}"))?;
                let result = inside.await;
                self.client().enter_parent_frame().await?;
                result
            }
            Err(error) => Err(error),
        };
        self.client().enter_parent_frame().await?;
        result
    }

    /// Gives the page a size, in the pixels of the page.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn resize(&self, width: u32, height: u32) -> anyhow::Result<()> {
        self.client().set_window_size(width, height).await?;
        self.until(&format!("the page is {width} wide"), async || {
            Ok(self.run("return window.innerWidth").await? == json!(width))
        })
        .await
    }

    /// Takes a picture and keeps it as `<name>.png` in the folder that `USHER_SCREENSHOTS` names, or below `target`.
    ///
    /// # Errors
    /// When the driver takes none within its time, or it cannot be written.
    pub async fn screenshot(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        self.run(KEEP_PAINTING).await?;
        let picture = match tokio::time::timeout(PATIENCE, self.client().screenshot()).await {
            Ok(picture) => picture?,
            Err(_) => bail!("the driver took no picture for \"{name}\""),
        };
        let folder =
            env::var_os("USHER_SCREENSHOTS").map_or_else(|| root().join("target/screenshots"), PathBuf::from);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{name}.png")), &picture)?;
        Ok(picture)
    }

    /// A picture of one element, which is kept nowhere.
    ///
    /// # Errors
    /// When there is no such element, or the driver takes none within its time.
    pub async fn picture_of(&self, css: &str) -> anyhow::Result<Vec<u8>> {
        let element = self.client().find(Locator::Css(css)).await?;
        self.run(KEEP_PAINTING).await?;
        match tokio::time::timeout(PATIENCE, element.screenshot()).await {
            Ok(picture) => Ok(picture?),
            Err(_) => bail!("the driver took no picture of {css}"),
        }
    }

    /// Ends the session, and with it the application: WebKitWebDriver kills it without asking.
    ///
    /// # Errors
    /// When the session was gone before.
    pub async fn close(self) -> anyhow::Result<()> {
        Ok(self.client.clone().close().await?)
    }
}

/// How many colours a picture has, up to a limit: one means that nothing was drawn.
///
/// # Errors
/// When it is no picture.
pub fn colours(picture: &[u8], limit: usize) -> anyhow::Result<usize> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("the picture is too large")?];
    let info = reader.next_frame(&mut pixels)?;
    let size = info.color_type.samples();
    let colours: std::collections::BTreeSet<&[u8]> = pixels[..info.buffer_size()].chunks(size).collect();
    Ok(colours.len().min(limit))
}

/// The root of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// The built application.
///
/// # Errors
/// When it is not there: the message says how to build it.
pub fn binary() -> anyhow::Result<PathBuf> {
    built("USHER_DESKTOP_BIN", "target/desktop/debug/usher")
}

/// The application as it is built for tests alone; its page lies beside it in the folder `page`.
///
/// # Errors
/// As [`binary`].
pub fn test_build() -> anyhow::Result<PathBuf> {
    built("USHER_TEST_BUILD", "target/desktop/test/usher")
}

fn built(variable: &str, usual: &str) -> anyhow::Result<PathBuf> {
    let path = env::var_os(variable).map_or_else(|| root().join(usual), PathBuf::from);
    if path.is_file() {
        return Ok(path);
    }
    bail!("there is no built application at {}; `cargo xtask test --only window` builds it", path.display())
}

async fn connect(driver: &Driver, binary: &Path) -> anyhow::Result<Client> {
    let capabilities = json!({ "tauri:options": { "application": binary } });
    let Value::Object(capabilities) = capabilities else { bail!("capabilities are an object") };
    let mut builder = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
    let address = driver.address();
    let session = tokio::time::timeout(PATIENCE, builder.capabilities(capabilities).connect(&address)).await;
    session
        .context("the application opened no window that loads")?
        .context("the application did not open a window")
}
