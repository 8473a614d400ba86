/**
 * The company's identity provider: people sign in there, and it says by its own policy which client may reach which MCP
 * server for whom (the token exchange of the ID-JAG draft, at a real oidc-provider). The subsidiary has one as well.
 */
import { randomUUID } from "node:crypto";

import { idJagAnswer, type TokenExchange } from "../demo/identity-provider-exchange.ts";
import { type DemoUser, type IdentityProvider, startIdentityProvider } from "../demo/identity-provider.ts";

const person = (id: string, email: string, name: string, groups: readonly string[] = []): DemoUser => ({
  id,
  email,
  name,
  groups,
});
export const ALICE = person("u-alice", "alice@example.com", "Alice");
export const BOB = person("u-bob", "bob@example.com", "Bob");
export const CAROL = person("u-carol", "carol@example.com", "Carol");
/** Of the subsidiary. Her subject there is Alice's here, and a group is called as one of the company's. */
export const NINA = person("u-alice", "nina@subsidiary.example", "Nina", ["Developers"]);

/** Who may be spoken for, and where. */
export interface Assignment {
  readonly user: DemoUser;
  /** The client as this provider knows it: it asks for statements. */
  readonly client: string;
  /** The authorization server that a statement is for. */
  readonly audience: string;
  /** The same client as that authorization server knows it. */
  readonly clientThere: string;
}

export interface Company {
  readonly issuer: string;
  /** The assistant, as this provider knows it. */
  readonly assistant: { readonly clientId: string; readonly clientSecret: string; readonly redirectUri: string };
  /** Every statement (ID-JAG) that it made, oldest first. */
  readonly statements: readonly { readonly audience: string; readonly text: string }[];
  assign(assignment: Assignment): void;
  /** From now on the user can neither sign in nor be spoken for; what they have elsewhere ends with their session here. */
  disable(user: DemoUser): void;
  close(): Promise<void>;
}

/** @param gateway its origin, and its secret at this provider */
export async function startCompany(gateway: { readonly origin: string; readonly secret: string }): Promise<Company> {
  const assistant = {
    clientId: "assistant",
    clientSecret: randomUUID(),
    redirectUri: "http://127.0.0.1:33418/callback",
  };
  const assignments = new Map<string, string>();
  const disabled = new Set<string>();
  const statements: { readonly audience: string; readonly text: string }[] = [];
  const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts);

  const exchange: TokenExchange = async ({ subject, clientId, parameters, sign }) => {
    // The company's policy: this person, with this client, at this server.
    const audience = parameters["audience"] ?? "";
    const clientThere = assignments.get(keyOf(subject, clientId, audience));
    if (clientThere === undefined || disabled.has(subject))
      return { status: 400, body: { error: "access_denied", error_description: "not assigned" } };
    const email = identityProvider.users.find(({ id }) => id === subject)?.email;
    const text = await sign({ client_id: clientThere, email });
    statements.push({ audience, text });
    return idJagAnswer(text);
  };
  const identityProvider = await startIdentityProvider({
    exchange,
    users: [ALICE, BOB, CAROL],
    clients: [
      {
        client_id: "gateway",
        client_secret: gateway.secret,
        redirect_uris: [`${gateway.origin}/.gateway/callback`],
        post_logout_redirect_uris: [`${gateway.origin}/.gateway/signed_out`],
        backchannel_logout_uri: `${gateway.origin}/.gateway/backchannel_logout`,
      },
      {
        client_id: assistant.clientId,
        client_secret: assistant.clientSecret,
        redirect_uris: [assistant.redirectUri],
      },
    ],
  });
  return {
    issuer: identityProvider.issuer,
    assistant,
    statements,
    assign: ({ user, client, audience, clientThere }) =>
      void assignments.set(keyOf(user.id, client, audience), clientThere),
    disable({ id }) {
      disabled.add(id);
      identityProvider.disable(id);
    },
    close: () => identityProvider.close(),
  };
}

/** @param gateway as above; the address to which browsers come back names the provider */
export function startSubsidiary(gateway: {
  readonly origin: string;
  readonly secret: string;
}): Promise<IdentityProvider> {
  const redirect = `${gateway.origin}/.gateway/callback/subsidiary`;
  return startIdentityProvider({
    users: [NINA],
    clients: [{ client_id: "gateway", client_secret: gateway.secret, redirect_uris: [redirect] }],
  });
}
