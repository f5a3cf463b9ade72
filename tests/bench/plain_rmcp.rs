//! The benchmark's client that is rmcp and nothing else. It validates nothing: rmcp does not.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use rmcp::{
    ServiceExt as _,
    model::{CallToolRequestParams, ClientRequest, PingRequest},
    transport::TokioChildProcess,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [count, calls, server @ ..] = args.as_slice() else { anyhow::bail!("COUNT CALLS SERVER…") };
    let (count, calls): (u64, usize) = (count.parse()?, calls.parse()?);
    let [program, server @ ..] = server else { anyhow::bail!("the server's command is missing") };
    let mut command = tokio::process::Command::new(program);
    command.args(server);
    let client = ().serve(TokioChildProcess::new(command)?).await?;
    client.list_all_tools().await?;
    let idle = memory("VmRSS:")?;
    let (mut times, mut pings) = (Vec::new(), Vec::new());
    for call in 0..=calls {
        let sent = Instant::now();
        client.send_request(ClientRequest::PingRequest(PingRequest::default())).await?;
        pings.push(sent.elapsed());
        let arguments = serde_json::json!({"count": count}).as_object().cloned().unwrap_or_default();
        let sent = Instant::now();
        let result = client.call_tool(CallToolRequestParams::new("rows").with_arguments(arguments)).await?;
        let took = sent.elapsed();
        let rows = result.structured_content.context("there is no structuredContent")?;
        anyhow::ensure!(rows["rows"].as_array().is_some_and(|it| it.len() as u64 == count));
        // The first call pays for what the later ones find ready.
        if call > 0 {
            times.push(took);
        }
    }
    let line = format!(
        "{{\"median_ms\":{},\"ping_ms\":{},\"peak_rss_mb\":{},\"idle_rss_mb\":{idle}}}\n",
        median(times),
        median(pings),
        memory("VmHWM:")?
    );
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    client.cancel().await?;
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(f64::NAN, |it| it.as_secs_f64() * 1_000.0)
}

fn memory(line: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kib = status.lines().find_map(|it| it.strip_prefix(line)).context("the kernel does not say")?;
    Ok(kib.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1_024.0)
}
