/** Trailers both ways, over each pair of HTTP versions, and what the settings of a route do to them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../../../support/certificates.ts";
import { type Pipeline, startPipeline } from "../../../support/pipeline.ts";
import {
  type Fields,
  sendOverHttp1,
  sendOverHttp2,
  startTrailerUpstream,
  type TrailerAnswer,
  type TrailerRequest,
  type TrailerUpstream,
} from "../../../support/trailer-peers.ts";

let tls: ListenerCertificates;
const upstreams: TrailerUpstream[] = [];
const pipelines = new Map<string, Pipeline>();

const ROUTES: Readonly<Record<string, object>> = {
  "/": {},
  "/set": {
    set_response_headers: { "X-Sum": "ours" },
    set_request_headers: { "X-Sum": "ours" },
    rewrite_response_headers: [{ header: "X-Place", prefix: "http://inner", value: "https://outer" }],
  },
  "/removed": { remove_request_headers: ["X-Sum", "x-other"] },
  "/off": { remove_request_headers: ["te"] },
  "/mcp": { mcp: { server: {} } },
};

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  for (const version of ["HTTP/1.1", "HTTP/2"] as const) upstreams.push(await startTrailerUpstream(version));
  for (const { origin, http2 } of upstreams) {
    for (const scheme of ["http", "https"]) {
      const routes = Object.entries(ROUTES).map(([prefix, settings]) => ({
        from: `${scheme}://app.example`,
        ...(prefix !== "/" && { prefix }),
        to: origin,
        http2,
        policy: [{ allow: { and: [{ accept: true }] } }],
        ...settings,
      }));
      const pipeline = await startPipeline(
        `runtime_flags: { mcp: true }\njwt_claims_headers: { X-Mail: email }\nroutes: ${JSON.stringify(routes)}`,
        scheme === "https" ? { certificates: tls.certificates } : {},
      );
      pipelines.set(`${scheme} ${origin}`, pipeline);
    }
  }
});
afterAll(async () => {
  for (const pipeline of pipelines.values()) await pipeline.close();
  for (const upstream of upstreams) await upstream.close();
  await tls.close();
});

interface Pair {
  readonly upstream: TrailerUpstream;
  readonly ask: (request: TrailerRequest) => Promise<TrailerAnswer>;
}

function pair(client: string, version: string): Pair {
  const upstream = upstreams[version === "HTTP/2" ? 1 : 0] as TrailerUpstream;
  const { port } = pipelines.get(`${client === "HTTP/2" ? "https" : "http"} ${upstream.origin}`) as Pipeline;
  return { upstream, ask: (request) => (client === "HTTP/2" ? sendOverHttp2 : sendOverHttp1)(port, request) };
}

const PAIRS = ["HTTP/1.1", "HTTP/2"].flatMap((client) =>
  ["HTTP/1.1", "HTTP/2"].map((version) => [client, version] as const),
);
const TE: Fields = [["te", "trailers"]];
const TWO: Fields = [
  ["x-sum", "1"],
  ["x-place", "http://inner/a"],
];

describe.each(PAIRS)("from %s to %s", (client, version) => {
  const isHttp2 = client === "HTTP/2" && version === "HTTP/2";

  test("trailers pass both ways where the client asks for them", async () => {
    const { upstream, ask } = pair(client, version);
    const sent: Fields = [
      ["x-sum", "abc"],
      ["x-sum", "def"],
      ["x-umlaut", "\u00e4"],
    ];
    upstream.answer([
      ["x-sum", "2"],
      ["x-sum", "3"],
      ["grpc-status", "0"],
      ["x-umlaut", "\u00e4"],
    ]);

    const answer = await ask({ headers: TE, trailers: sent });

    expect(answer).toMatchObject({ status: 200, body: "answer", isWhole: true });
    expect(answer.trailers).toEqual([
      ["x-sum", "2"],
      ["x-sum", "3"],
      ["grpc-status", "0"],
      ["x-umlaut", "\u00e4"],
    ]);
    const seen = upstream.seen.at(-1);
    expect(seen).toMatchObject({ body: "body", trailers: sent, headers: { te: "trailers" } });
    if (version === "HTTP/1.1") expect(seen?.headers["connection"]).toBe("keep-alive, te");
    // Nothing of it has become a header.
    expect(seen?.headers["x-sum"]).toBeUndefined();
    expect(answer.headers["x-sum"]).toBeUndefined();
  });

  test("are forwarded without TE, which is about the client's handling of response trailers", async () => {
    const { upstream, ask } = pair(client, version);
    upstream.answer(TWO);

    const answer = await ask({ trailers: [["x-sum", "abc"]] });

    expect(answer).toMatchObject({ status: 200, body: "answer", isWhole: true, trailers: TWO });
    expect(upstream.seen.at(-1)?.trailers).toEqual([["x-sum", "abc"]]);
    expect(upstream.seen.at(-1)?.headers["te"]).toBeUndefined();
  });

  test("messages without any stay as they are", async () => {
    const { upstream, ask } = pair(client, version);
    upstream.answer([]);

    for (const headers of [[], TE]) {
      expect(await ask({ headers })).toMatchObject({ status: 200, body: "answer", isWhole: true, trailers: [] });
      expect(upstream.seen.at(-1)).toMatchObject({ body: "body", trailers: [] });
    }
  });

  test("announcements only name trailers that are forwarded", async () => {
    const { upstream, ask } = pair(client, version);
    const names = "X-Sum, Content-Length, x-gateway-assertion, Set-Cookie, X-Late, not a name";
    upstream.answer(TWO, [["trailer", names]]);

    const answer = await ask({ headers: [...TE, ["trailer", names]] });

    expect(upstream.seen.at(-1)?.headers["trailer"]).toBe("x-sum, x-late");
    if (client === "HTTP/1.1") expect(answer.headers["trailer"]).toBe("x-sum, x-late");
  });

  test("a body of declared length has them only over HTTP/2", async () => {
    const { upstream, ask } = pair(client, version);
    upstream.answer(TWO, [["content-length", "6"]]);

    const answer = await ask({ headers: [...TE, ["content-length", "4"]], trailers: [["x-sum", "abc"]] });

    expect(answer).toMatchObject({ status: 200, body: "answer", isWhole: true, trailers: isHttp2 ? TWO : [] });
    expect(upstream.seen.at(-1)).toMatchObject({ body: "body", trailers: isHttp2 ? [["x-sum", "abc"]] : [] });
  });

  test("header settings of a route also apply to trailers", async () => {
    const { upstream, ask } = pair(client, version);
    upstream.answer(TWO);

    const set = await ask({
      path: "/set",
      headers: TE,
      trailers: [
        ["x-sum", "1"],
        ["x-ok", "1"],
      ],
    });
    expect(set.trailers).toEqual([["x-place", "https://outer/a"]]);
    expect(set.headers["x-sum"]).toBe("ours");
    expect(upstream.seen.at(-1)).toMatchObject({ trailers: [["x-ok", "1"]], headers: { "x-sum": "ours" } });

    await ask({
      path: "/removed",
      headers: TE,
      trailers: [
        ["x-sum", "1"],
        ["x_other", "1"],
        ["x-ok", "1"],
      ],
    });
    expect(upstream.seen.at(-1)?.trailers).toEqual([["x-ok", "1"]]);

    // The settings name it: a claim header is the gateway's alone, in any spelling.
    await ask({
      headers: TE,
      trailers: [
        ["x-mail", "a"],
        ["x_mail", "b"],
        ["x-ok", "1"],
      ],
    });
    expect(upstream.seen.at(-1)?.trailers).toEqual([["x-ok", "1"]]);
  });

  test("a route that removes TE has none, but over HTTP/2", async () => {
    const { upstream, ask } = pair(client, version);
    upstream.answer(TWO);

    const answer = await ask({ path: "/off", headers: TE, trailers: [["x-sum", "1"]] });

    expect(answer.trailers).toEqual(isHttp2 ? TWO : []);
    expect(upstream.seen.at(-1)).toMatchObject({ trailers: isHttp2 ? [["x-sum", "1"]] : [] });
    expect(upstream.seen.at(-1)?.headers["te"]).toBeUndefined();
  });

  test.each([
    ["fields", Array.from({ length: 101 }, () => ["x", "1"] as const)],
    ["bytes", Array.from({ length: 40 }, () => ["x", "1".repeat(500)] as const)],
  ])("too many %s abort the message", async (_what, many) => {
    const { upstream, ask } = pair(client, version);
    upstream.answer(many);
    expect(await ask({ headers: TE })).toMatchObject({ isWhole: false, trailers: [] });

    upstream.answer([]);
    const before = upstream.seen.length;
    expect((await ask({ headers: TE, trailers: many })).status).toBe(400);
    expect(upstream.seen.length).toBe(before);

    // As many as there may be.
    const most = Array.from({ length: 100 }, () => ["x", "1"] as const);
    upstream.answer(most);
    expect((await ask({ headers: TE, trailers: most })).trailers).toEqual(most);
    expect(upstream.seen.at(-1)?.trailers).toEqual(most);
  });

  test("MCP server routes pass none", async () => {
    const { upstream, ask } = pair(client, version);
    upstream.answer(TWO);
    const before = upstream.seen.length;
    const answer = await ask({ path: "/mcp", headers: TE, trailers: [["x-sum", "1"]] });
    expect(answer.trailers).toEqual([]);
    for (const { trailers } of upstream.seen.slice(before)) expect(trailers).toEqual([]);
  });
});
