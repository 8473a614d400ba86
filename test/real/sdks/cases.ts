/** The cases of every language: its client and its server with the gateway between them, and without it. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { type SignedInClient, signInClient } from "../../support/oauth-client.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import { type Command, type Happening, type SdkClient, startClient } from "./client.ts";
import { wireOf } from "./wire.ts";
import { REDIRECT, type SdkWorld, startSdkWorld } from "./world.ts";

export interface SdkVariant {
  readonly name: string;
  /** How it finds the version of the protocol: by `initialize`, or first by `server/discover`. */
  readonly mode: "legacy" | "auto";
  /** False: the SDK has no OAuth client, and gets a token from its application. */
  readonly signsIn: boolean;
  /** The SDK registers again with each authorization, and a session is that of the client that began it. */
  readonly registersAgain?: boolean;
  /** The client program with these arguments: address, mode, and how it gets in. */
  client(...args: readonly string[]): Command;
  /** The server program of the same version. */
  readonly server: Command;
}

interface Started {
  readonly server: RealProcess;
  readonly direct: string;
  readonly world: SdkWorld;
}

export function describeSdk(variant: SdkVariant, settings = ""): void {
  const { mode, signsIn } = variant;
  const closing: (() => Promise<unknown>)[] = [];
  let started: Started;

  beforeAll(async () => {
    const { command, args } = variant.server;
    const server = await startProcess(command, args, /^listening on (\d+)$/m);
    const direct = `http://127.0.0.1:${server.ready[1]}/mcp`;
    started = { server, direct, world: await startSdkWorld(direct, settings) };
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(async () => {
    await started?.world.close();
    await started?.server.close();
  });

  /** A connected client, signed in by the SDK or with the tokens of the test. */
  async function enter(): Promise<{ readonly client: SdkClient; readonly given?: SignedInClient }> {
    const { world } = started;
    if (signsIn) {
      const client = await startClient(variant.client(world.resource, mode, "oauth", REDIRECT), world.user());
      closing.push(() => client.close());
      return { client };
    }
    const given = await signInClient({ resource: world.resource, user: "alice@example.com" });
    const token = given.tokens.access_token;
    const client = await startClient(variant.client(world.resource, mode, "token", token), world.user());
    closing.push(() => client.close());
    return { client, given };
  }

  test(
    signsIn ? "registers, signs in, lists tools and calls one" : "with a token, lists tools and calls one",
    async () => {
      const { client } = await enter();
      const authorizations = client.authorizations();
      expect(authorizations).toHaveLength(signsIn ? 1 : 0);
      for (const { searchParams } of authorizations) {
        expect(Object.fromEntries(searchParams)).toMatchObject({
          code_challenge_method: "S256",
          resource: started.world.resource,
          scope: "mcp",
        });
      }
      const { tools } = (await client.run({ do: "list" })) as unknown as {
        readonly tools: readonly { name: string }[];
      };
      const names = tools.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["add", "pay", "scoped"]));
      expect(names).not.toContain("forbidden");
      expect(await client.call("add", { a: 1, b: 2 })).toMatchObject({ result: { structuredContent: { sum: 3 } } });
    },
  );

  test("a call that policy denies is an error, is not repeated, and leaves the connection as it is", async () => {
    const { client } = await enter();
    const before = await started.world.decided("forbidden");
    expect(await client.call("forbidden")).toMatchObject({ event: "error", code: -31403 });
    expect((await started.world.decided("forbidden")) - before).toBe(1);
    expect(client.authorizations()).toHaveLength(signsIn ? 1 : 0);
    expect(await client.call("add", { a: 1, b: 2 })).toMatchObject({ event: "result" });
  });

  test(
    signsIn
      ? `a call that needs another scope leads to consent for it, and is then made${variant.registersAgain ? " in a new session" : ""}`
      : "a call that needs another scope is an error that names it",
    async () => {
      const { client } = await enter();
      let outcome = await client.call("scoped");
      if (variant.registersAgain === true) {
        expect(outcome).toMatchObject({
          event: "error",
          message: expect.stringMatching(/session not found$/) as string,
        });
        expect(await client.run({ do: "connect" })).toMatchObject({ event: "done" });
        outcome = await client.call("scoped");
      }
      if (signsIn) {
        expect(outcome).toMatchObject({ event: "result", result: { content: [{ text: "scoped" }] } });
        const scopes = client.authorizations().map((url) => url.searchParams.get("scope")?.split(" ").toSorted());
        expect(scopes).toEqual([["mcp"], ["extra", "mcp"]]);
      } else {
        expect(outcome).toMatchObject({ event: "error" });
        // The SDK hands the challenge to a handler of its application.
        const refused = await client.next("refused");
        expect(refused).toMatchObject({
          status: 403,
          challenge: expect.stringMatching(/ error="insufficient_scope".* scope="mcp extra"$/),
        });
      }
      expect(await client.call("add", { a: 1, b: 2 })).toMatchObject({ event: "result" });
    },
  );

  test("a call whose access is revoked is an error that says so, and is not repeated", async () => {
    const { client, given } = await enter();
    const { bank, gateway } = started.world;
    const name = "revoked";
    const call = client.call("pay", { url: bank.url(name) });
    await bank.asked(name);
    const registered = given ? undefined : await client.next("registered");
    const form = {
      token: given?.tokens.refresh_token ?? client.token(),
      client_id: given?.registration.client_id ?? String(registered?.["client"]),
      ...(typeof registered?.["secret"] === "string" && { client_secret: registered["secret"] }),
    };
    const revoked = await fetch(`${gateway.origin}/.gateway/mcp/revoke`, {
      method: "POST",
      body: new URLSearchParams(form),
    });
    expect(revoked.status).toBe(200);
    await bank.respond(name);
    expect(await call).toMatchObject({ event: "error", code: -31403, data: { may_have_run: true } });
    expect(bank.paid(name)).toBe(1);
    expect(client.authorizations()).toHaveLength(signsIn ? 1 : 0);
  });

  test("directly and through the gateway, the client sees the same of the server", async () => {
    const { client } = await enter();
    const direct = await startClient(variant.client(started.direct, mode, "none"), started.world.user());
    closing.push(() => direct.close());
    const seen = await transcriptOf(direct, mode);
    expect(seen.steps).toHaveLength(3);
    expect(seen.outcomes[0]).toMatchObject({ result: { structuredContent: { sum: 3 } } });
    expect(seen.outcomes[1]).toMatchObject({ result: { content: [{ text: "done" }] } });
    expect(seen.outcomes[2]).toMatchObject({ result: { isError: true } });
    expect(seen.large).toBe(LARGE);
    expect(await transcriptOf(client, mode)).toEqual(seen);
  });

  if (mode === "auto") return;
  test("directly and through the gateway, initialize, the GET stream and DELETE are the same on the wire", async () => {
    const { world, direct } = started;
    const { tokens } = await signInClient({ resource: world.resource, user: "alice@example.com" });
    const seen = await wireOf(direct);
    expect(seen).toMatchObject({ initialized: 202, stream: 200, heard: "notifications/tools/list_changed" });
    expect(await wireOf(world.resource, tokens.access_token)).toEqual(seen);
  });
}

/** A text that crosses many chunks; twice in a result, below the limit of the Python SDK for one event (1 MiB). */
const LARGE = 400_000;

/** A client's view of a server: its tools, results, errors, progress, and the notice that the tools have changed. */
async function transcriptOf(client: SdkClient, mode: SdkVariant["mode"]) {
  const from = client.happened.length;
  const listed = (await client.run({ do: "list" }))["tools"] as readonly { readonly name: string }[];
  const isModern = mode === "auto" && (await client.next("connected"))["version"] === "2026-07-28";
  const listening = isModern ? await client.run({ do: "listen" }) : undefined;
  const outcomes: Happening[] = [];
  outcomes.push(await client.call("add", { a: 1, b: 2 }));
  outcomes.push(await client.call("steps", { count: 3 }));
  outcomes.push(await client.call("fail"));
  outcomes.push(await client.call("add", { a: "one" }));
  outcomes.push(await client.call("nothing"));
  outcomes.push(await client.call("announce"));
  const large = await client.call("large", { size: LARGE });
  const text = (large["result"] as { readonly content: readonly { readonly text: string }[] }).content[0]?.text;
  const heard = await client.next("changed", from);
  const stepsSeen = (): readonly Happening[] => client.happened.slice(from).filter(({ event }) => event === "progress");
  await expect.poll(() => stepsSeen().length).toBe(3);
  const plain = (happening: Happening): object => ({ ...happening, id: undefined });
  return {
    // Lists hide items that the policy denies.
    tools: listed.filter(({ name }) => name !== "forbidden").toSorted((a, b) => a.name.localeCompare(b.name)),
    listening: listening && plain(listening),
    outcomes: outcomes.map(plain),
    // Some SDKs handle several notices at the same time.
    steps: stepsSeen()
      .map(plain)
      .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    large: text?.length,
    heard: plain(heard),
  };
}
