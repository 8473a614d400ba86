//! An MCP client on the official SDK, driven by lines of JSON on stdin; what happens is a line of JSON on stdout.
//! Arguments: the server's address, "legacy" or "auto", and how it gets in: "none", or "oauth" with a redirect URI.

use std::{error::Error, sync::Arc};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, ServiceError,
    model::{CallToolRequestParams, JsonObject, ProgressNotificationParam, ProtocolVersion, SubscriptionFilter},
    service::{ClientInitializeError, NotificationContext, RunningService},
    transport::{
        StreamableHttpClientTransport,
        auth::{
            AuthClient, AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationRequest, CredentialStore,
            OAuthState, StoredCredentials, WWWAuthenticateParams,
        },
        streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig},
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::{Mutex, mpsc},
};

type Failure = Box<dyn Error + Send + Sync>;

fn say(event: &str, more: Value) {
    let mut line = json!({ "event": event });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    println!("{line}");
}

/// Tokens in memory; it says when there are new ones.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<Option<StoredCredentials>>>);

#[async_trait::async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.0.lock().await.clone())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        if let Some(tokens) = &credentials.token_response {
            say("registered", json!({ "client": credentials.client_id }));
            say("tokens", json!({ "token": serde_json::to_value(tokens).unwrap()["access_token"] }));
        }
        *self.0.lock().await = Some(credentials);
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        *self.0.lock().await = None;
        Ok(())
    }
}

struct Told;

impl ClientHandler for Told {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let ProgressNotificationParam { progress, total, message, .. } = params;
        say("progress", json!({ "progress": progress, "total": total, "message": message }));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        say("changed", json!({}));
    }
}

type Client = RunningService<RoleClient, Told>;

async fn serve<C: StreamableHttpClient + Sync>(
    http: C,
    address: &str,
    mode: &str,
) -> Result<Client, ClientInitializeError> {
    let config = StreamableHttpClientTransportConfig::with_uri(address);
    let lifecycle = if mode == "legacy" {
        ClientLifecycleMode::Initialize
    } else {
        ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
    };
    Told.serve_with_lifecycle(StreamableHttpClientTransport::with_client(http, config), lifecycle).await
}

/// The user's part of an authorization, whose address is opened by the test.
struct Visitor {
    callbacks: Mutex<mpsc::Receiver<String>>,
}

impl Visitor {
    async fn visit(&self, url: &str) -> Result<String, Failure> {
        say("authorize", json!({ "url": url }));
        Ok(self.callbacks.lock().await.recv().await.ok_or("no callback")?)
    }
}

async fn sign_in(
    address: &str,
    redirect: &str,
    challenge: &str,
    visitor: &Visitor,
) -> Result<AuthorizationManager, Failure> {
    let mut manager = AuthorizationManager::new(address).await?;
    manager.set_credential_store(Store::default());
    let mut state = OAuthState::Unauthorized(manager);
    // Without this it asks for all scopes of the metadata.
    let request = AuthorizationRequest::new(redirect)
        .with_client_name("Rust client")
        .with_challenge(challenge)
        .with_initial_scope_selection();
    state.start_authorization(request).await?;
    let callback = visitor.visit(&state.get_authorization_url().await?).await?;
    state.handle_callback_url(&callback).await?;
    Ok(state.into_authorization_manager().ok_or("not authorized")?)
}

struct Session {
    peer: Peer<RoleClient>,
    authorization: Option<Arc<Mutex<AuthorizationManager>>>,
    address: String,
    visitor: Arc<Visitor>,
}

impl Session {
    /// Calls a tool; where a scope is missing, it asks for it with the SDK's functions and calls again.
    async fn call(&self, tool: String, arguments: JsonObject) -> Result<Value, Failure> {
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let error = match self.peer.call_tool(params.clone()).await {
            Ok(result) => return Ok(serde_json::to_value(result)?),
            Err(error) => error,
        };
        let (Some(challenge), Some(authorization)) = (error.auth_challenge(), &self.authorization) else {
            return Err(error.into());
        };
        let needed = WWWAuthenticateParams::parse(challenge, &self.address.parse()?);
        if !needed.is_insufficient_scope() {
            return Err(error.into());
        }
        let manager = authorization.lock().await;
        let url = manager.request_scope_upgrade(&needed.scope.unwrap_or_default()).await?;
        let callback = AuthorizationCallback::from_redirect_url(&self.visitor.visit(&url).await?)?;
        manager
            .exchange_code_for_token_with_issuer(&callback.code, &callback.csrf_token, callback.issuer.as_deref())
            .await?;
        drop(manager);
        Ok(serde_json::to_value(self.peer.call_tool(params).await?)?)
    }

    async fn listen(&self, id: &Value) -> Result<(), Failure> {
        let mut subscription = self.peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await?;
        say("listening", json!({ "id": id }));
        while subscription.next().await?.is_some() {
            say("changed", json!({}));
        }
        Ok(())
    }

    async fn carry_out(&self, command: &Value) -> Result<(), Failure> {
        let id = &command["id"];
        match command["do"].as_str() {
            Some("list") => say("tools", json!({ "id": id, "tools": self.peer.list_all_tools().await? })),
            Some("call") => {
                let tool = command["tool"].as_str().unwrap_or_default().to_owned();
                let arguments = command["arguments"].as_object().cloned().unwrap_or_default();
                say("result", json!({ "id": id, "result": self.call(tool, arguments).await? }));
            }
            Some("listen") => self.listen(id).await?,
            _ => {}
        }
        Ok(())
    }
}

fn say_error(id: &Value, error: &Failure) {
    let mut line = json!({ "id": id, "message": error.to_string() });
    if let Some(ServiceError::McpError(data)) = error.downcast_ref::<ServiceError>() {
        line["code"] = json!(data.code);
        line["data"] = json!(data.data);
    }
    say("error", line);
}

async fn run(arguments: Vec<String>) -> Result<(), Failure> {
    let [address, mode, entry, rest @ ..] = arguments.as_slice() else { return Err("arguments".into()) };
    let (callback, callbacks) = mpsc::channel(1);
    let (sender, mut commands) = mpsc::channel::<Value>(16);
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let command: Value = serde_json::from_str(&line).unwrap();
            if command["do"] == "callback" {
                callback.send(command["url"].as_str().unwrap().to_owned()).await.unwrap();
            } else {
                sender.send(command).await.unwrap();
            }
        }
    });
    let visitor = Arc::new(Visitor { callbacks: Mutex::new(callbacks) });
    let (client, authorization) = match serve(reqwest::Client::default(), address, mode).await {
        Ok(client) => (client, None),
        Err(error) if entry == "oauth" => {
            let challenge = error.auth_challenge().ok_or_else(|| error.to_string())?.to_owned();
            let manager = sign_in(address, &rest[0], &challenge, &visitor).await?;
            let http = AuthClient::new(reqwest::Client::default(), manager);
            let authorization = http.auth_manager.clone();
            (serve(http, address, mode).await?, Some(authorization))
        }
        Err(error) => return Err(error.into()),
    };
    let peer = client.peer().clone();
    say("connected", json!({ "version": peer.peer_info().map(|info| info.protocol_version.clone()) }));
    let session = Arc::new(Session { peer, authorization, address: address.clone(), visitor });
    while let Some(command) = commands.recv().await {
        if command["do"] == "close" {
            break;
        }
        let session = session.clone();
        tokio::spawn(async move {
            if let Err(error) = session.carry_out(&command).await {
                say_error(&command["id"], &error);
            }
        });
    }
    client.cancel().await?;
    say("closed", json!({}));
    Ok(())
}

#[tokio::main]
async fn main() {
    if let Err(error) = run(std::env::args().skip(1).collect()).await {
        say_error(&Value::Null, &error);
        std::process::exit(1);
    }
    std::process::exit(0);
}
