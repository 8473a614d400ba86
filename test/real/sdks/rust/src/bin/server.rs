//! An MCP server on the official SDK, at /mcp. Prints the port on which it listens.

use std::error::Error;

use rmcp::{
    ErrorData, Json, RoleServer, ServerHandler,
    handler::server::wrapper::Parameters,
    model::{
        CallToolResult, ContentBlock, Implementation, ProgressNotificationParam, ServerCapabilities, ServerConfig,
        SubscriptionFilter,
    },
    schemars,
    service::{RequestContext, SubscriptionContext},
    tool, tool_handler, tool_router,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

#[derive(Deserialize, schemars::JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Count {
    count: u32,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Size {
    size: usize,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Address {
    url: String,
}

#[derive(Clone)]
struct Tools {
    changed: broadcast::Sender<()>,
}

fn failure(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[tool_router]
impl Tools {
    #[tool(description = "Adds two numbers.")]
    async fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> Json<Sum> {
        Json(Sum { sum: a + b })
    }

    #[tool(description = "Reports each of its steps.")]
    async fn steps(
        &self,
        Parameters(Count { count }): Parameters<Count>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let token = context.meta.get_progress_token().ok_or_else(|| failure("no progress token"))?;
        for step in 1..=count {
            let params = ProgressNotificationParam::new(token.clone(), f64::from(step))
                .with_total(f64::from(count))
                .with_message(format!("step {step}"));
            context.peer.notify_progress(params).await.map_err(failure)?;
        }
        Ok("done".into())
    }

    #[tool(description = "Fails.")]
    async fn fail(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text("out of order")])
    }

    #[tool(description = "Responds with a long text.")]
    async fn large(&self, Parameters(Size { size }): Parameters<Size>) -> String {
        "x".repeat(size)
    }

    #[tool(description = "Asks an address, and responds with what that responds.")]
    async fn pay(&self, Parameters(Address { url }): Parameters<Address>) -> Result<String, ErrorData> {
        reqwest::get(url).await.map_err(failure)?.text().await.map_err(failure)
    }

    #[tool(description = "Says that the list of tools has changed.")]
    async fn announce(&self, context: RequestContext<RoleServer>) -> String {
        // To those who listen, or by the stream of the session. Where there is no session, nobody is told by that.
        let _ = self.changed.send(());
        let _ = context.peer.notify_tool_list_changed().await;
        "announced".into()
    }

    #[tool(description = "Needs a scope at the gateway.")]
    async fn scoped(&self) -> String {
        "scoped".into()
    }

    #[tool(description = "Is denied by the gateway's policy.")]
    async fn forbidden(&self) -> String {
        "forbidden".into()
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build())
            .with_server_info(Implementation::new("rust server", "1"))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changed = self.changed.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                _ = changed.recv() => context.sink().notify_tool_list_changed().await.map_err(failure)?,
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (changed, _) = broadcast::channel(16);
    let tools = Tools { changed };
    let service: StreamableHttpService<Tools, LocalSessionManager> =
        StreamableHttpService::new(move || Ok(tools.clone()), Default::default(), StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?.port());
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
