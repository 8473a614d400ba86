/** An agent in a job of a CI platform: it asks for a run, exchanges its platform's token, and calls tools with the result. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export interface RunState {
  /** HTTP status. */
  readonly status: number;
  readonly state?: "pending" | "active" | "refused";
  /** Where the user decides. */
  readonly approval_url?: string;
  readonly error?: string;
}

export interface Agent {
  request(run: { readonly purpose: string; readonly approver: string; readonly seconds: number }): Promise<RunState>;
  state(): Promise<RunState>;
  /** Exchanges the platform's token (RFC 8693), and connects. @throws Error with the error of the response */
  connect(): Promise<void>;
  tools(): Promise<readonly string[]>;
  /** @throws what the SDK throws for a denied call */
  call(tool: string, input?: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

/** @param platformToken a new token of the job, for this audience */
export function createAgent(server: string, platformToken: (audience: string) => Promise<string>): Agent {
  const { origin } = new URL(server);
  let client: Client | undefined;

  const runs = async (method: string, body?: object): Promise<RunState> => {
    const answer = await fetch(`${origin}/.gateway/mcp/runs`, {
      method,
      headers: { authorization: `Bearer ${await platformToken(origin)}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { ...((await answer.json()) as object), status: answer.status };
  };

  return {
    request: ({ purpose, approver, seconds }) =>
      runs("POST", { purpose, servers: [server], approver, expires_in: seconds }),
    state: () => runs("GET"),
    async connect() {
      const answer = await fetch(`${origin}/.gateway/mcp/token`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
          subject_token: await platformToken(origin),
          subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
          resource: server,
        }),
      });
      const { access_token: token, error } = (await answer.json()) as Readonly<Record<string, string>>;
      if (token === undefined) throw new Error(error);
      await client?.close();
      client = new Client({ name: "support-agent", version: "1.0.0" });
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(server), { requestInit }));
    },
    async tools() {
      return ((await client?.listTools())?.tools ?? []).map(({ name }) => name);
    },
    async call(name, input = {}) {
      if (!client) throw new Error("not connected");
      await client.callTool({ name, arguments: input });
    },
    async close() {
      await client?.close();
    },
  };
}
