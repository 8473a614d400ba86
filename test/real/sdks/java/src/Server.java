import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.startup.Tomcat;

/** An MCP server on the official SDK in a Tomcat, at /mcp. Prints the port on which it listens. */
public class Server {
  private static Map<String, Object> schema(Map<String, String> types) {
    var properties = new java.util.TreeMap<String, Object>();
    types.forEach((name, type) -> properties.put(name, Map.of("type", type)));
    return Map.of("type", "object", "properties", properties, "required", types.keySet().stream().sorted().toList());
  }

  private static CallToolResult text(String value) {
    return CallToolResult.builder().content(List.of(TextContent.builder(value).build())).isError(false).build();
  }

  private static SyncToolSpecification tool(
      Tool tool, BiFunction<McpSyncServerExchange, CallToolRequest, CallToolResult> handler) {
    return SyncToolSpecification.builder().tool(tool).callHandler(handler).build();
  }

  private static Tool described(String name, String description, Map<String, String> arguments) {
    return Tool.builder(name, schema(arguments)).description(description).build();
  }

  private static int number(CallToolRequest request, String name) {
    return ((Number) request.arguments().get(name)).intValue();
  }

  private static CallToolResult steps(McpSyncServerExchange exchange, CallToolRequest request) {
    int count = number(request, "count");
    for (int step = 1; step <= count; step += 1) {
      exchange.progressNotification(ProgressNotification.builder(request.progressToken(), (double) step)
          .total((double) count)
          .message("step " + step)
          .build());
    }
    return text("done");
  }

  private static CallToolResult pay(McpSyncServerExchange exchange, CallToolRequest request) {
    try {
      var asked = HttpRequest.newBuilder(URI.create((String) request.arguments().get("url"))).build();
      return text(HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString()).body());
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Logger.getLogger("").setLevel(Level.WARNING);
    var transport = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
    var server = new AtomicReference<McpSyncServer>();
    var add = Tool.builder("add", schema(Map.of("a", "integer", "b", "integer")))
        .description("Adds two numbers.")
        .outputSchema(schema(Map.of("sum", "integer")))
        .build();
    server.set(McpServer.sync(transport)
        .serverInfo("java server", "1")
        .requestTimeout(Duration.ofMinutes(10))
        .capabilities(ServerCapabilities.builder().tools(true).build())
        .tools(
            tool(add, (exchange, request) -> CallToolResult.builder()
                .structuredContent(Map.of("sum", number(request, "a") + number(request, "b")))
                .build()),
            tool(described("steps", "Reports each of its steps.", Map.of("count", "integer")), Server::steps),
            tool(described("fail", "Fails.", Map.of()), (exchange, request) -> CallToolResult.builder()
                .content(List.of(TextContent.builder("out of order").build()))
                .isError(true)
                .build()),
            tool(described("large", "Responds with a long text.", Map.of("size", "integer")),
                (exchange, request) -> text("x".repeat(number(request, "size")))),
            tool(described("pay", "Asks an address, and responds with what that responds.", Map.of("url", "string")),
                Server::pay),
            tool(described("announce", "Says that the list of tools has changed.", Map.of()), (exchange, request) -> {
              server.get().notifyToolsListChanged();
              return text("announced");
            }),
            tool(described("scoped", "Needs a scope at the gateway.", Map.of()), (exchange, request) -> text("scoped")),
            tool(described("forbidden", "Is denied by the gateway's policy.", Map.of()),
                (exchange, request) -> text("forbidden")))
        .build());

    var tomcat = new Tomcat();
    String base = Files.createTempDirectory("gateform-tomcat").toString();
    tomcat.setBaseDir(base);
    tomcat.setHostname("127.0.0.1");
    tomcat.setPort(0);
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    tomcat.getConnector().setAsyncTimeout(Duration.ofMinutes(10).toMillis());
    var context = tomcat.addContext("", base);
    var servlet = Tomcat.addServlet(context, "mcp", transport);
    servlet.setAsyncSupported(true);
    context.addServletMappingDecoded("/mcp", "mcp");
    tomcat.start();
    System.out.println("listening on " + tomcat.getConnector().getLocalPort());
    tomcat.getServer().await();
  }
}
