/** Clients that sign (`private_key_jwt`), and send one assertion to two replicas at once. */
import { randomUUID } from "node:crypto";

import { SignJWT } from "jose";

import { ASSERTION_TYPE, makeSigningKey } from "../../support/client-assertion.ts";
import { createOAuthClient } from "../../support/oauth-client.ts";
import { mark } from "../history/history.ts";
import type { Replica } from "../world/types.ts";
import { act, ask, createActor, type Scene } from "./scene.ts";

/**
 * What is asked with it is refused, since there is no such refresh token: whether the assertion was taken, and so used up, is
 * told by the error. "invalid_client" is one that was not.
 */
export function sign(scene: Scene, name: string): Promise<void> {
  const actor = createActor(scene, name);
  const { world, history } = actor;
  let client: Promise<string> | undefined;
  const key = makeSigningKey("ES256", name);
  const url = `${world.addresses.origin}/.gateway/mcp/token`;
  const registered = async (): Promise<string> => {
    const oauth = createOAuthClient({ resource: world.addresses.tools, send: actor.send });
    const { jwk } = await key;
    const more = { client_name: name, token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [jwk] } };
    return (await oauth.register(more)).client_id;
  };
  return act(actor, async () => {
    client ??= registered();
    const id = await client.catch(() => (client = undefined));
    if (id === undefined) return actor.pause(1_000);
    const jti = randomUUID();
    const assertion = await new SignJWT({ jti })
      .setProtectedHeader({ alg: "ES256", kid: name })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(world.addresses.origin)
      .setIssuedAt()
      .setExpirationTime("2m")
      .sign((await key).privateKey);
    const body = new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: "gwr_none",
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: assertion,
    }).toString();
    const send = async (replica: Replica): Promise<void> => {
      const facts = { what: "assertion", value: mark(jti), client: id } as const;
      const operation = history.begin("redeem", { actor: name, replica: replica.name }, facts);
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const answer = await ask(world, replica, { method: "POST", url, headers, body });
      const isTaken = answer?.status === 400 && answer.text.includes("invalid_grant");
      const isRefused = answer?.status === 401 && answer.text.includes("invalid_client");
      operation.end(isTaken ? "ok" : isRefused ? "refused" : "unknown", answer ? { status: answer.status } : {});
    };
    await Promise.all([send(actor.replica()), send(actor.replica())]);
    await send(actor.replica());
    return actor.pause(700);
  });
}
