/**
 * An agent that reaches MCP servers by its company's word: it holds the ID token of a person who signed in to it, has the
 * company's provider make a statement for one server, and exchanges that for a token there. All by the official SDK.
 */
import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  type FetchLike,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";

export interface AssistantOptions {
  /** Address of the MCP server. */
  readonly server: string;
  /** The authorization server that the credentials are for: the server's origin. */
  readonly expectedIssuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The company's provider, and the agent's credentials there. */
  readonly company: { readonly issuer: string; readonly clientId: string; readonly clientSecret: string };
  /** Of the person for whom it works. */
  readonly idToken: string;
}

export interface Assistant {
  readonly client: Client;
  /** The first that it heard on its stream. */
  readonly heard: Promise<unknown>;
  /** Resolves when its stream is open. */
  readonly listening: Promise<void>;
  /** Resolves when its stream was ended, to the moment of that (milliseconds since the epoch). */
  readonly cutOff: Promise<number>;
  hasEnded(): boolean;
  token(): string;
  close(): Promise<void>;
}

type Speaker = Pick<AssistantOptions, "company" | "idToken">;

/** The company's statement (ID-JAG) that a person may reach a server. @throws what the SDK throws when it makes none */
export async function requestStatement(
  { company, idToken }: Speaker,
  place: { readonly audience: string; readonly resource: string; readonly scope?: string },
  fetchFn: FetchLike = fetch,
): Promise<string> {
  const { issuer: idpUrl, clientId, clientSecret } = company;
  const request = { idpUrl, clientId, clientSecret, idToken, ...place, fetchFn };
  return (await discoverAndRequestJwtAuthGrant(request)).jwtAuthGrant;
}

/** @throws what the SDK throws when the company's provider or the server refuses */
export async function connectAssistant(options: AssistantOptions): Promise<Assistant> {
  const { server, expectedIssuer, clientId, clientSecret } = options;
  const authProvider = new CrossAppAccessProvider({
    expectedIssuer,
    clientId,
    clientSecret,
    assertion: ({ authorizationServerUrl: audience, resourceUrl: resource, scope, fetchFn }) =>
      requestStatement(options, { audience, resource, ...(scope === undefined ? {} : { scope }) }, fetchFn),
  });
  const listening = Promise.withResolvers<void>();
  const cutOff = Promise.withResolvers<number>();
  const heard = Promise.withResolvers<unknown>();
  let isEnded = false;

  /** The stream of the SDK, watched: what happens to it is what the story is about. */
  const watchedFetch: FetchLike = async (url, init) => {
    const response = await fetch(url, init);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if ((init?.method ?? "GET") !== "GET" || !isStream || !response.body) return response;
    const [watched, read] = response.body.tee();
    listening.resolve();
    const end = (): void => {
      isEnded = true;
      cutOff.resolve(Date.now());
    };
    void watched.pipeTo(new WritableStream()).then(end, end);
    return new Response(read, response);
  };

  const client = new Client({ name: "assistant", version: "1.0.0" });
  client.setNotificationHandler("notifications/message", ({ params }) => heard.resolve(params.data));
  await client.connect(new StreamableHTTPClientTransport(new URL(server), { authProvider, fetch: watchedFetch }));
  return {
    client,
    heard: heard.promise,
    listening: listening.promise,
    cutOff: cutOff.promise,
    hasEnded: () => isEnded,
    token: () => authProvider.tokens()?.access_token ?? "",
    close: () => client.close(),
  };
}
