/** An agent of MCP 2026-07-28 whose host can show its user a page (elicitation by URL): calls are held while the user decides. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export interface AskingAgent {
  call(tool: string, input: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

/** @param show the page, to the user of the agent; the agent goes on at once and waits for the server */
export async function connectAskingAgent(
  url: string,
  token: string,
  show: (page: string) => void,
): Promise<AskingAgent> {
  const client = new Client(
    { name: "Agent that asks", version: "1.0.0" },
    { versionNegotiation: { mode: "auto" }, capabilities: { elicitation: { url: {} } } },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => {
    if ("url" in params && typeof params.url === "string") show(params.url);
    return { action: "accept" as const };
  });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return {
    async call(name, input) {
      await client.callTool({ name, arguments: input });
    },
    close: () => client.close(),
  };
}
