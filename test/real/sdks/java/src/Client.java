import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import reactor.core.publisher.Mono;

/**
 * An MCP client on the official SDK, driven by lines of JSON on stdin; what happens is a line of JSON on stdout. Arguments: the
 * server's address, "legacy", and how it gets in: "none", or "token" with a token, since the SDK has no OAuth client. With "expect",
 * an address and a file of certificates it sends one request over HTTP/2 that waits for "100 Continue".
 */
public class Client {
  private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();

  private static synchronized void say(String event, Map<String, Object> more) {
    var line = new HashMap<String, Object>(more);
    line.put("event", event);
    try {
      System.out.println(JSON.writeValueAsString(line));
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private static void sayError(Object id, Throwable error) {
    var line = new HashMap<String, Object>();
    line.put("id", id);
    line.put("message", String.valueOf(error));
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof McpError known && known.getJsonRpcError() != null) {
        line.put("code", known.getJsonRpcError().code());
        line.put("data", known.getJsonRpcError().data());
      }
    }
    say("error", line);
  }

  private static McpSyncClient connect(String address, AtomicReference<String> token) {
    var uri = URI.create(address);
    var transport = HttpClientStreamableHttpTransport.builder(uri.resolve("/").toString())
        .endpoint(uri.getPath())
        .httpRequestCustomizer((request, method, endpoint, body, context) -> {
          if (token.get() != null) request.setHeader("Authorization", "Bearer " + token.get());
        })
        .authorizationErrorHandler((request, response, context) -> {
          say("refused", Map.of(
              "method", request.method(),
              "status", response.statusCode(),
              "challenge", response.headers().firstValue("www-authenticate").orElse("")));
          return Mono.just(false);
        })
        .build();
    return McpClient.sync(transport)
        .requestTimeout(Duration.ofMinutes(10))
        .initializationTimeout(Duration.ofMinutes(2))
        .toolsChangeConsumer(tools -> say("changed", Map.of()))
        .progressConsumer(step ->
            say("progress", Map.of("progress", step.progress(), "total", step.total(), "message", step.message())))
        .build();
  }

  private static void carryOut(McpSyncClient client, Map<String, Object> command, AtomicReference<String> token) {
    Object id = command.get("id");
    try {
      switch ((String) command.get("do")) {
        case "list" -> say("tools", Map.of("id", id, "tools", client.listTools().tools()));
        case "token" -> {
          token.set((String) command.get("token"));
          say("done", Map.of("id", id));
        }
        case "call" -> {
          @SuppressWarnings("unchecked")
          var arguments = (Map<String, Object>) command.get("arguments");
          var request = McpSchema.CallToolRequest.builder((String) command.get("tool"))
              .arguments(arguments)
              .progressToken(String.valueOf(id))
              .build();
          say("result", Map.of("id", id, "result", client.callTool(request)));
        }
        default -> throw new IllegalArgumentException("no such command");
      }
    } catch (RuntimeException error) {
      sayError(id, error);
    }
  }

  private static void run(String address, String given) throws IOException {
    var token = new AtomicReference<>(given);
    var client = connect(address, token);
    say("connected", Map.of("version", client.initialize().protocolVersion()));
    var threads = Executors.newCachedThreadPool();
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, Object> command = JSON.readValue(line, new TypeRef<Map<String, Object>>() {});
      if (command.get("do").equals("close")) break;
      threads.execute(() -> carryOut(client, command, token));
    }
    client.closeGracefully();
    say("closed", Map.of());
  }

  private static void expect(String address, String certificates) throws Exception {
    var trusted = KeyStore.getInstance(KeyStore.getDefaultType());
    trusted.load(null);
    try (var file = Files.newInputStream(Path.of(certificates))) {
      trusted.setCertificateEntry("gateway", CertificateFactory.getInstance("X.509").generateCertificate(file));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    var tls = SSLContext.getInstance("TLS");
    tls.init(null, trust.getTrustManagers(), null);
    var request = HttpRequest.newBuilder(URI.create(address))
        .expectContinue(true)
        .POST(HttpRequest.BodyPublishers.ofString("{\"hello\":\"body\"}"))
        .build();
    var response = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(tls).build()
        .send(request, HttpResponse.BodyHandlers.ofString());
    say("response", Map.of(
        "status", response.statusCode(), "version", response.version().name(), "body", response.body()));
  }

  public static void main(String[] arguments) throws Exception {
    try {
      if (arguments[0].equals("expect")) expect(arguments[1], arguments[2]);
      else run(arguments[0], arguments[2].equals("token") ? arguments[3] : null);
    } catch (Throwable error) {
      sayError(null, error);
      System.exit(1);
    }
    System.exit(0);
  }
}
