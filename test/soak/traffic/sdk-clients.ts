/** The official SDK's clients of both eras: connect, list, call; each of their requests is told by itself. */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { obtain, refresh, register, type Grant } from "./grants.ts";
import { UNTAGGED } from "../history/operations.ts";
import { act, createActor, PATIENCE_MS, within, type Actor, type Scene } from "./scene.ts";

/** Requests of a transport, each at a replica of its own choice and with a tag. */
function toldFetch(actor: Actor, grant: Grant): typeof fetch {
  const { world, history } = actor;
  return async (input, init) => {
    const url = new URL(String(input instanceof Request ? input.url : input));
    const replica = actor.replica();
    // Its calls have a tag of ours; of what else it sends records show none.
    const tag = /"tag":"([^"]+)"/.exec(typeof init?.body === "string" ? init.body : "")?.[1] ?? UNTAGGED;
    const by = { user: grant.user, grant: grant.id, client: grant.registration.client_id };
    const facts = { tag, route: "tools", how: "tool", ...by } as const;
    const operation = history.begin("request", { actor: actor.name, replica: replica.name }, facts);
    try {
      const response = await within(world.fetch(replica)(url, init));
      const { status } = response;
      // What an answer 200 says is told by the calls; the SDK reads it.
      operation.end(status >= 500 || status === 429 ? "unknown" : status >= 300 ? "refused" : "ok", { status });
      return response;
    } catch (error) {
      operation.end("unknown");
      throw error;
    }
  };
}

/** What both eras' clients can. */
interface SdkClient {
  connect(transport: never): Promise<void>;
  listTools(): Promise<unknown>;
  callTool(call: { readonly name: string; readonly arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

async function useClient(actor: Actor, grant: Grant, era: "v1" | "v2"): Promise<void> {
  const url = new URL(grant.resource);
  const options = {
    fetch: toldFetch(actor, grant),
    requestInit: { headers: { authorization: `Bearer ${grant.access}` } },
  };
  const info = { name: era, version: "1" };
  const client: SdkClient = era === "v1" ? new ClientV1(info) : new ClientV2(info);
  const transport = era === "v1" ? new TransportV1(url, options) : new TransportV2(url, options);
  try {
    await within(client.connect(transport as never));
    await within(client.listTools());
    for (let count = 15; count > 0 && !actor.hasEnded(); count -= 1) {
      await within(client.callTool({ name: "echo", arguments: { tag: actor.next() } }));
      await actor.pause(300);
    }
  } finally {
    await within(client.close(), PATIENCE_MS).catch(() => {});
  }
}

/** @param kept grants as they are left, for the end */
export function useSdk(scene: Scene, name: string, user: string, era: "v1" | "v2", kept: Grant[]): Promise<void> {
  const actor = createActor(scene, name);
  let grant: Grant | undefined;
  return act(actor, async () => {
    if (!grant) {
      grant = await obtain(actor, await register(actor, user, actor.world.addresses.tools, `SDK ${name}`), false);
      if (!grant) return actor.pause(1_000);
      kept.push(grant);
    }
    await useClient(actor, grant, era).catch(() => actor.pause(500));
    if (!(await refresh(actor, grant, actor.random() < 0.3))) grant = undefined;
    return undefined;
  });
}
