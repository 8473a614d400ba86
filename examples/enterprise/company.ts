/**
 * The company's identity provider: people sign in there, and it says by its own policy which client may reach which MCP
 * server for whom (the token exchange of the ID-JAG draft, at a real oidc-provider).
 */
import { randomUUID } from "node:crypto";

import { idJagAnswer, type TokenExchange } from "../demo/identity-provider-exchange.ts";
import { startIdentityProvider } from "../demo/identity-provider.ts";

export interface Company {
  readonly issuer: string;
  /** The assistant, as this provider knows it. */
  readonly assistant: { readonly clientId: string; readonly clientSecret: string; readonly redirectUri: string };
  /** Every statement (ID-JAG) that it made, oldest first. */
  readonly statements: readonly string[];
  /** Lets a user reach a host's MCP servers with the assistant, which has this id there. */
  assign(userId: string, audience: string, clientIdThere: string): void;
  /** From now on the user can neither sign in nor be spoken for; what they have elsewhere ends with their session here. */
  disable(userId: string): void;
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
  const statements: string[] = [];
  const keyOf = (userId: string, audience: string): string => JSON.stringify([userId, audience]);

  const exchange: TokenExchange = async ({ subject, clientId, parameters, sign }) => {
    // The company's policy: this person, with this client, at this server.
    const clientIdThere = assignments.get(keyOf(subject, parameters["audience"] ?? ""));
    if (clientId !== assistant.clientId || clientIdThere === undefined || disabled.has(subject))
      return { status: 400, body: { error: "access_denied", error_description: "not assigned" } };
    const email = identityProvider.users.find(({ id }) => id === subject)?.email;
    const statement = await sign({ client_id: clientIdThere, email });
    statements.push(statement);
    return idJagAnswer(statement);
  };
  const identityProvider = await startIdentityProvider({
    exchange,
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
    assign: (userId, audience, clientIdThere) => void assignments.set(keyOf(userId, audience), clientIdThere),
    disable(userId) {
      disabled.add(userId);
      identityProvider.disable(userId);
    },
    close: () => identityProvider.close(),
  };
}
