/** gRPC calls on their way: what the gateway itself says to them, how long they may be silent, and how they end. */
import { connect, constants, type ClientHttp2Session } from "node:http2";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { grpcStatusOf, isGrpcCall, parseGrpcTimeout } from "../../../../runtime/http/grpc.ts";
import { RateLimits } from "../../../../runtime/limits/rate-limits.ts";
import { RequestBody } from "../../../../runtime/proxy/forwarding/request-body.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { type ListenerCertificates, openListenerCertificates } from "../../../support/certificates.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { createFakeExchange } from "../../../support/fake-exchange.ts";
import {
  createNotesClient,
  metadataOf,
  type NotesClient,
  type NotesServer,
  startNotesServer,
  status,
} from "../../../support/grpc.ts";
import { type Pipeline, startPipeline } from "../../../support/pipeline.ts";

let tls: ListenerCertificates;
let server: NotesServer;
let pipeline: Pipeline;
let limits: RateLimits;
let session: ClientHttp2Session;
const clients = new Map<string, NotesClient>();

/** The server sends no head before it has something to say. */
const SILENT = ["x-silent", "yes"];
const SAY = "/test.Notes/Say";

/** By the first label of the host. */
const ROUTES: Readonly<Record<string, object>> = {
  app: { set_response_headers: { "X-Ours": "yes", "Grpc-Status": "0" } },
  plain: {},
  people: { policy: [{ allow: { or: [{ email: { is: "alice@example.com" } }] } }] },
  dead: { to: "http://127.0.0.1:9" },
  quick: { timeout: "60ms" },
  quiet: { idle_timeout: "400ms" },
  elsewhere: { to: undefined, http2: undefined, redirect: { https_redirect: true, host_redirect: "other.example" } },
  away: { to: undefined, http2: undefined, response: { status: 503, body: "We are painting" } },
  limited: { rate_limits: [{ name: "calls", requests: 1, window: "1h" }] },
  notes: { prefix: SAY },
  mcp: { mcp: { server: {} }, http2: undefined },
  http1: { http2: undefined, to: "http://127.0.0.1:9" },
};

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  server = await startNotesServer();
  const routes = Object.entries(ROUTES).map(([name, settings]) => ({
    from: `https://${name}.example`,
    to: server.origin,
    http2: true,
    policy: [{ allow: { and: [{ accept: true }] } }],
    ...settings,
  }));
  const yaml = `runtime_flags: { mcp: true }\nroutes: ${JSON.stringify(routes)}`;
  limits = new RateLimits({
    store: createMemoryStore({ clock: systemClock }),
    snapshots: { current: () => snapshotFrom(yaml), subscribe: () => () => {} },
    countProcesses: async () => 1,
    clock: systemClock,
    log: silentLog(),
  });
  pipeline = await startPipeline(yaml, { certificates: tls.certificates, limits });
  session = connect(`https://127.0.0.1:${pipeline.port}`, { rejectUnauthorized: false });
});
afterAll(async () => {
  for (const client of clients.values()) client.close();
  session.destroy();
  await pipeline.close();
  await limits.close();
  server.close();
  await tls.close();
});

const client = (host: string): NotesClient => {
  const known = clients.get(host);
  if (known) return known;
  const made = createNotesClient(
    `127.0.0.1:${pipeline.port}`,
    {},
    { "grpc.default_authority": `${host}.example`, "grpc.ssl_target_name_override": `${host}.example` },
  );
  clients.set(host, made);
  return made;
};

interface Shown {
  readonly head: Readonly<Record<string, unknown>>;
  /** The head was all there was. */
  readonly isWhole: boolean;
  readonly body: string;
  readonly trailers: Readonly<Record<string, unknown>>;
  /** Code of RST_STREAM; 0 = none. */
  readonly resetBy: number;
}

/** A call without a client's library. @param body absent: it does not come */
function ask(host: string, fields: readonly string[] = [], path = SAY, body?: Buffer): Promise<Shown> {
  const head = [":method", "POST", ":scheme", "https", ":authority", `${host}.example`, ":path", path];
  const type = fields.includes("content-type") ? [] : ["content-type", "application/grpc"];
  const stream = session.request([...head, ...type, "te", "trailers", ...fields], { endStream: false });
  if (body) stream.end(body);
  let shown: Shown = { head: {}, isWhole: false, body: "", trailers: {}, resetBy: 0 };
  stream.on("response", (headers, flags) => {
    shown = { ...shown, head: { ...headers }, isWhole: (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0 };
  });
  stream.on("data", (chunk: Buffer) => (shown = { ...shown, body: shown.body + chunk.toString() }));
  stream.on("trailers", (trailers) => (shown = { ...shown, trailers: { ...trailers } }));
  stream.on("error", () => {});
  return new Promise((resolve) => stream.once("close", () => resolve({ ...shown, resetBy: stream.rstCode ?? 0 })));
}

const message = (text: string): Buffer => {
  const note = Buffer.from(JSON.stringify({ text, hang: text === "hang" }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(note.length, 1);
  return Buffer.concat([prefix, note]);
};
const cookie = (name: string): string[] => ["cookie", `gateway_session=${name}`];

describe("the gateway's own response to a call", () => {
  test.each([
    ["nobody signed in", "people", [], status.UNAUTHENTICATED, "sign-in.required: Unauthorized"],
    [
      "a user who may not",
      "people",
      cookie("bob"),
      status.PERMISSION_DENIED,
      "access.denied: The policy of this address",
    ],
    ["a store that is away", "people", cookie("down"), status.UNAVAILABLE, "session.unavailable: The session"],
    ["a failure of its own", "people", cookie("boom"), status.INTERNAL, "internal: The gateway failed"],
    ["a host that it does not serve", "unknown", [], status.UNIMPLEMENTED, "host.unknown: This gateway does not"],
    ["an upstream that is away", "dead", [], status.UNAVAILABLE, "upstream.unreachable: The "],
    ["an upstream that is late", "quick", SILENT, status.DEADLINE_EXCEEDED, "upstream.timeout: The "],
    ["a deadline that means nothing", "app", ["grpc-timeout", "1"], status.INTERNAL, "request.grpc-timeout: "],
    ["two deadlines", "app", ["grpc-timeout", "1S", "grpc-timeout", "2S"], status.INTERNAL, "request.grpc-timeout: "],
    [
      "a deadline that has passed",
      "app",
      ["grpc-timeout", "50m", ...SILENT],
      status.DEADLINE_EXCEEDED,
      "request.deadline: ",
    ],
    ["a redirect of its route", "elsewhere", [], status.UNIMPLEMENTED, "There is no gRPC method at this address"],
    ["a fixed answer of its route", "away", [], status.UNAVAILABLE, "Service Unavailable"],
    ["an MCP server", "mcp", [], status.UNAUTHENTICATED, ""],
    [
      "a head that it cannot understand",
      "app",
      ["host", "other.example"],
      status.INTERNAL,
      "request.authority-mismatch: ",
    ],
  ])("reports %s by a gRPC status in the head", async (_, host, fields, code, words) => {
    const { head, isWhole } = await ask(host, fields, SAY, message("hang"));
    expect(isWhole).toBe(true);
    expect(head).toMatchObject({ ":status": 200, "content-type": "application/grpc", "grpc-status": String(code) });
    expect(head["grpc-message"]).toMatch(/ \(request [0-9a-f]{32}\)$/);
    expect(head["grpc-message"]).toContain(words);
    expect(head["grpc-message"]).toContain(head["x-request-id"]);
    for (const name of ["location", "set-cookie", "content-length", "content-security-policy"])
      expect(head).not.toHaveProperty(name);
  });

  test("tells a rate limited call when to retry", async () => {
    const first = await client("limited").say({ text: "hello" });
    expect(first.code).toBe(status.OK);
    const { head } = await ask("limited", [], SAY, message("hello"));
    expect(head).toMatchObject({
      "grpc-status": String(status.RESOURCE_EXHAUSTED),
      "ratelimit-policy": '"calls";q=1;w=3600',
      "retry-after": expect.stringMatching(/^3[56]\d\d$/) as string,
    });
    expect(head["grpc-message"]).toContain("limits.exceeded: ");
  });

  test("clients read it, where nothing is at the address", async () => {
    const { code, details } = await client("notes").chat([{ text: "" }]);
    expect([code, details]).toEqual([
      status.UNIMPLEMENTED,
      expect.stringMatching(/^route\.not-found: There is nothing at this address \(request [0-9a-f]{32}\)$/),
    ]);
  });

  test("has the headers of settings, which cannot be mistaken for its own", async () => {
    const { head } = await ask("app", ["grpc-timeout", "x"]);
    expect(head).toMatchObject({ "x-ours": "yes", "grpc-status": "13" });
  });

  test("also rejects an ambiguous path as a call", async () => {
    const { head } = await ask("app", [], "/a%2fb");
    expect(head).toMatchObject({ ":status": 200, "grpc-status": String(status.INTERNAL) });
  });

  test.each(["application/grpc-web", "application/grpc-web+proto", "application/grpc-web-text", "application/grpcx"])(
    "%s is told by HTTP",
    async (type) => {
      const { head, body } = await ask("people", ["content-type", type], SAY, message(""));
      expect(head).toMatchObject({ ":status": 401, "content-type": "application/json" });
      expect(head).not.toHaveProperty("grpc-status");
      expect(JSON.parse(body)).toMatchObject({ error: "sign-in.required" });
    },
  );

  test.each(["application/grpc", "application/grpc+proto", "APPLICATION/GRPC; charset=utf-8", "application/grpc+a.b"])(
    "%s is a call",
    (type) => {
      const header = (): string => type;
      expect(isGrpcCall({ httpVersion: "2", method: "POST", header })).toBe(true);
      // HTTP/1.1 has no place for its status, and GET is no call.
      expect(isGrpcCall({ httpVersion: "1.1", method: "POST", header })).toBe(false);
      expect(isGrpcCall({ httpVersion: "2", method: "GET", header })).toBe(false);
    },
  );

  test("no status is one that gRPC keeps for applications", () => {
    const ofApplications = new Set([0, 3, 5, 6, 9, 10, 11, 15]);
    const all = Array.from({ length: 400 }, (_, index) => grpcStatusOf(200 + index));
    expect(all.filter((code) => ofApplications.has(code))).toEqual([]);
    expect([401, 403, 429, 413, 503, 418].map((each) => grpcStatusOf(each))).toEqual([16, 7, 8, 8, 14, 2]);
    expect(grpcStatusOf(504, "upstream.connect-timeout")).toBe(14);
  });
});

test.each([
  ["1H", 3_600_000],
  ["2M", 120_000],
  ["99999999S", 99_999_999_000],
  ["250m", 250],
  ["5u", 0.005],
  ["7n", 0.000007],
  ["100000000m", undefined],
  ["1", undefined],
  ["-1S", undefined],
  ["1.5S", undefined],
  ["1s", undefined],
  [" 1S", undefined],
])("parseGrpcTimeout(%j) is %s", (text, ms) => expect(parseGrpcTimeout(text)).toBe(ms));

describe("silence", () => {
  const nothing = { text: "", hang: true };
  const silent = metadataOf({ "x-silent": "yes" });
  /** Until a call that was sent now has been cut for its silence: what has the same bound was cut before. */
  const untilCut = async (): Promise<void> => {
    expect((await client("quick").say(nothing, silent)).code).toBe(status.DEADLINE_EXCEEDED);
  };

  test.each([
    ["before its answer has begun", silent],
    ["after its answer has begun", metadataOf({})],
  ])("does not end a call that is open on both sides, %s", async (_, metadata) => {
    const began = server.nextCall();
    const { call, outcome } = client("quick").openChat(metadata);
    call.write(nothing);
    await began;
    await untilCut();
    const answered = new Promise((resolve) => call.once("data", resolve));
    call.write({ text: "late" });
    expect(await answered).toEqual({ text: "late" });
    call.end();
    expect((await outcome).code).toBe(status.OK);
  });

  test("does not end a response whose request has ended", async () => {
    // A busy machine may take longer than the bound until the answer begins: then once more.
    const begun = async (): Promise<ReturnType<NotesClient["openRepeat"]>> => {
      const opened = client("quick").openRepeat({ text: "n", count: 1, hang: true });
      const hasBegun = new Promise((resolve) => opened.call.once("data", () => resolve(true)));
      return (await Promise.race([hasBegun, opened.outcome])) === true ? opened : begun();
    };
    const { call, outcome } = await begun();
    let isOver = false;
    void outcome.then(() => (isOver = true));
    await untilCut();
    expect(isOver).toBe(false);
    call.cancel();
    expect((await outcome).code).toBe(status.CANCELLED);
  });

  test("ends a call where idle_timeout says so", async () => {
    const before = client("quiet").openChat(silent);
    before.call.write(nothing);
    expect((await before.outcome).code).toBe(status.DEADLINE_EXCEEDED);
    const afterAnswer = async (): Promise<readonly unknown[]> => {
      const after = client("quiet").openChat();
      after.call.write({ text: "a" });
      const { code, notes } = await after.outcome;
      // The answer began too late on a busy machine: that was the end above.
      return notes.length === 0 ? afterAnswer() : [code, notes];
    };
    expect(await afterAnswer()).toEqual([status.INTERNAL, [{ text: "a" }]]);
  });

  test("of a client ends a call without a message, but not one in progress", () => {
    vi.useFakeTimers();
    try {
      const bodies = [false, true, true, true].map((mayRest) => {
        const exchange = createFakeExchange({ hasBody: true });
        const body = new RequestBody(exchange, mayRest);
        body.on("error", () => {});
        body.read(0);
        return { exchange, body };
      });
      const [ordinary, , begun, answered] = bodies;
      ordinary?.exchange.body.emit("data", Buffer.from("a"));
      begun?.exchange.body.emit("data", Buffer.from("a"));
      answered?.body.rest();
      vi.advanceTimersByTime(61_000);
      begun?.exchange.body.emit("data", Buffer.from("b"));
      vi.advanceTimersByTime(61_000);
      expect(bodies.map(({ body }) => body.destroyed)).toEqual([true, true, false, false]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("the end of a call", () => {
  test("comes with its deadline even if the client continues, and is reported to the server", async () => {
    const began = server.nextCall();
    const { isWhole, head, trailers } = await ask("app", ["grpc-timeout", "1S"], SAY, message("hang"));
    // The answer had begun; the server's clock may ring first, and says it in its words.
    expect([isWhole, head[":status"], trailers["grpc-status"]]).toEqual([false, 200, "4"]);
    await (
      await began
    ).cancelled;
  });

  test.each([
    ["before its answer has begun", SILENT, "dave"],
    ["after its answer has begun", [], "carol"],
  ])("comes with the end of the access, %s", async (_, fields, name) => {
    const began = server.nextCall();
    const metadata = metadataOf({ cookie: `gateway_session=${name}`, ...(fields.length > 0 && { "x-silent": "yes" }) });
    const { call, outcome } = client("app").openChat(metadata);
    const begins = fields.length > 0 || new Promise((resolve) => call.once("metadata", resolve));
    call.write({ text: "", hang: true });
    const { cancelled } = await began;
    await begins;
    pipeline.revocations.revokeNow(`user:${name}`);
    // Not UNAUTHENTICATED, at which a client would make the call again.
    expect((await outcome).code).toBe(status.PERMISSION_DENIED);
    await cancelled;
  });

  test("comes with the end of its upstream, and does not look like one of its own", async () => {
    const short = await startNotesServer();
    const other = await startPipeline(
      `routes: ${JSON.stringify([{ from: "https://app.example", to: short.origin, http2: true, policy: [{ allow: { and: [{ accept: true }] } }] }])}`,
      { certificates: tls.certificates },
    );
    const own = createNotesClient(
      `127.0.0.1:${other.port}`,
      {},
      { "grpc.default_authority": "app.example", "grpc.ssl_target_name_override": "app.example" },
    );
    const { call, outcome } = own.openRepeat({ text: "n", count: 1, hang: true });
    await new Promise((resolve) => call.once("data", resolve));
    short.close();
    const { code, notes } = await outcome;
    own.close();
    await other.close();
    expect([code, notes.length]).toEqual([status.INTERNAL, 1]);
  });

  test("comes from either side at any moment, and leaves nothing open", async () => {
    const outcomes = Array.from({ length: 200 }, async (_, index) => {
      const { call, outcome } = client("plain").openChat();
      call.write({ text: "a" });
      // By the server, which says so, or by the client, a few turns of the event loop later.
      if (index % 3 === 0) call.write({ text: "", fail: { code: status.ABORTED, details: "enough" } });
      for (let turn = 0; turn < index % 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (index % 2 === 0) call.cancel();
      else call.end();
      return (await outcome).code;
    });
    const codes = new Set(await Promise.all(outcomes));
    expect([...codes].filter((code) => ![status.OK, status.ABORTED, status.CANCELLED].includes(code))).toEqual([]);
    await expect.poll(() => [pipeline.proxy.underWay, pipeline.proxy.streams.size]).toEqual([0, 0]);
  });
});
