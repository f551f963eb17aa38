//! SQL with `oxport_score`, in one process and on several.
//!
//! ```text
//! oxport-datafusion local     TABLE SQL OUT.parquet      the rows of a query over TABLE, which it calls `rows`
//! oxport-datafusion cluster   TABLE SQL OUT.parquet [EXECUTORS [KILL_AFTER_MS]]
//! oxport-datafusion scheduler PORT
//! oxport-datafusion executor  PORT SCHEDULER_PORT
//! ```
//!
//! `cluster` starts a scheduler and executors as processes of their own on this machine, and runs the query on them;
//! after KILL_AFTER_MS, it kills one of the executors with SIGKILL.

mod function;

use ballista::prelude::SessionContextExt;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::default_session_builder;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::SessionStateBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use function::oxport_score;
use futures::StreamExt;
use std::error::Error;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

type Done<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Done {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["local", table, sql, out] => {
            let config = SessionConfig::new().with_target_partitions(2);
            let context = SessionContext::new_with_config(config);
            context.register_udf(oxport_score());
            query(&context, table, sql, out).await
        }
        ["cluster", table, sql, out] => cluster(table, sql, out, 2, None).await,
        ["cluster", table, sql, out, executors] => cluster(table, sql, out, executors.parse()?, None).await,
        ["cluster", table, sql, out, executors, kill] => {
            cluster(table, sql, out, executors.parse()?, Some(kill.parse()?)).await
        }
        ["scheduler", port] => scheduler(port.parse()?).await,
        ["executor", port, scheduler] => executor(port.parse()?, scheduler.parse()?).await,
        _ => Err("expected local, cluster, scheduler or executor".into()),
    }
}

/// Runs a query, and writes its rows as they come: in no particular order.
async fn query(context: &SessionContext, table: &str, sql: &str, out: &str) -> Done {
    let start = Instant::now();
    context.register_parquet("rows", table, ParquetReadOptions::default()).await?;
    let frame = context.sql(sql).await?;
    let mut stream = frame.execute_stream().await?;
    let mut writer = ArrowWriter::try_new(File::create(out)?, stream.schema(), None)?;
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        writer.write(&batch)?;
    }
    writer.close()?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{rows} rows: {seconds:.2} s, {:.0} rows/s", rows as f64 / seconds);
    Ok(())
}

/// Every process knows the function by name: its code is in each of them, and the plan names it.
async fn scheduler(port: u16) -> Done {
    let config = SchedulerConfig {
        bind_port: port,
        override_session_builder: Some(Arc::new(|config| {
            let state = default_session_builder(config)?;
            Ok(SessionStateBuilder::new_from_existing(state).with_scalar_functions(functions()).build())
        })),
        // An executor that dies is noticed within seconds.
        executor_timeout_seconds: 5,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: 5,
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    Ok(start_server(cluster, format!("127.0.0.1:{port}").parse()?, Arc::new(config)).await?)
}

fn functions() -> Vec<Arc<datafusion::logical_expr::ScalarUDF>> {
    let mut all = ballista_core::extension::ballista_scalar_functions();
    all.push(Arc::new(oxport_score()));
    all
}

async fn executor(port: u16, scheduler: u16) -> Done {
    let mut registry = BallistaFunctionRegistry::default();
    registry.scalar_functions.insert("oxport_score".to_string(), Arc::new(oxport_score()));
    let config = ExecutorProcessConfig {
        port,
        grpc_port: port + 100,
        scheduler_port: scheduler,
        scheduler_host: "127.0.0.1".to_string(),
        scheduler_connect_timeout_seconds: 20,
        vcores: 1,
        executor_heartbeat_interval_seconds: 1,
        override_function_registry: Some(Arc::new(registry)),
        ..ExecutorProcessConfig::default()
    };
    Ok(start_executor_process(Arc::new(config)).await?)
}

/// A process of this program, which ends when this one does.
fn start(arguments: &[String]) -> Done<Child> {
    Ok(Command::new(std::env::current_exe()?).args(arguments).kill_on_drop(true).spawn()?)
}

async fn cluster(table: &str, sql: &str, out: &str, executors: u16, kill_after: Option<u64>) -> Done {
    let port = 50150;
    let _scheduler = start(&["scheduler".to_string(), port.to_string()])?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut running = Vec::new();
    for i in 0..executors {
        running.push(start(&["executor".to_string(), (port + 1 + i).to_string(), port.to_string()])?);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let config = SessionConfig::new_with_ballista().with_target_partitions(16);
    let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
    let context = SessionContext::remote_with_state(&format!("df://127.0.0.1:{port}"), state).await?;
    context.register_udf(oxport_score());
    let killing = async {
        if let Some(after) = kill_after {
            tokio::time::sleep(Duration::from_millis(after)).await;
            let mut victim = running.remove(0);
            println!("killing executor {:?}", victim.id());
            victim.kill().await?;
        }
        Done::Ok(())
    };
    let (done, killed) = tokio::join!(query(&context, table, sql, out), killing);
    killed.and(done)
}
