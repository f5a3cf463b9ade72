//! The switches as a command line has them.

use clap::Parser;
use expect_test::expect_file;
use usher_sample_server::Options;

#[derive(Debug, Parser)]
#[command(name = "sample-server", term_width = 100)]
struct Command {
    #[command(flatten)]
    options: Options,
}

#[test]
fn every_switch_is_in_the_help() {
    let mut command = <Command as clap::CommandFactory>::command();
    expect_file!["../golden/help.txt"].assert_eq(&command.render_help().to_string());
}

#[test]
fn switches_are_read() {
    let line =
        "sample-server --canaries k7 --on * --only 2026-07-28 --only 2025-06-18 --flood --delay-ms 5 --late";
    let options = Command::try_parse_from(line.split(' ')).unwrap().options;
    assert_eq!(options.canaries.as_deref(), Some("k7"));
    assert!(options.on.names("anything"));
    assert_eq!(options.era.only.len(), 2);
    assert_eq!((options.wire.flood, options.wire.delay_ms, options.wire.late), (Some(100_000), 5, true));
    assert!(Command::try_parse_from(["sample-server", "--only", "1999-01-01"]).is_err());
}

#[test]
fn a_command_line_without_switches_is_the_default() {
    let options = Command::try_parse_from(["sample-server"]).unwrap().options;
    assert_eq!(format!("{options:?}"), format!("{:?}", Options::default()));
}

/// As a command of an application, whose own words about it stand.
#[test]
fn the_switches_do_not_speak_for_the_command() {
    #[derive(Parser)]
    enum Application {
        /// Start it
        SampleServer(Options),
    }
    let application = <Application as clap::CommandFactory>::command();
    let about = application.find_subcommand("sample-server").unwrap().get_about().unwrap().to_string();
    assert_eq!(about, "Start it");
}
