/**
 * Duplicate fields that have only one meaning. The gateway rejects those that it reads itself (accept-h1.ts); the others are
 * forwarded unchanged, over each pair of HTTP versions, and count as no failure: an upstream that is blamed for its callers'
 * input could be ejected by any of them.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { createLog } from "../../runtime/shared/log.ts";
import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";
import {
  type Fields,
  sendOverHttp1,
  sendOverHttp2,
  startTrailerUpstream,
  type TrailerAnswer,
  type TrailerRequest,
  type TrailerUpstream,
} from "../support/trailer-peers.ts";

let tls: ListenerCertificates;
let upstreams: readonly TrailerUpstream[];
let plain: Pipeline;
let secure: Pipeline;
let logged = "";

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  upstreams = [await startTrailerUpstream("HTTP/1.1"), await startTrailerUpstream("HTTP/2")];
  const routesOf = (scheme: string): string =>
    JSON.stringify(
      upstreams.map(({ origin, http2 }) => ({
        from: `${scheme}://app.example`,
        prefix: http2 ? "/http2" : "/http1",
        to: origin,
        http2,
        policy: [{ allow: { and: [{ accept: true }] } }],
      })),
    );
  const log = createLog({ level: "warn", destination: { write: (line) => void (logged += line) } });
  plain = await startPipeline(`routes: ${routesOf("http")}`, { log });
  secure = await startPipeline(`routes: ${routesOf("https")}`, { log, certificates: tls.certificates });
});
afterAll(async () => {
  await plain.close();
  await secure.close();
  for (const upstream of upstreams) await upstream.close();
  await tls.close();
});
beforeEach(() => {
  for (const upstream of upstreams) upstream.answer([]);
  logged = "";
});

const PAIRS = ["/http1", "/http2"].flatMap((path) => [
  ["HTTP/1.1", path, (request: TrailerRequest) => sendOverHttp1(plain.port, { ...request, path })] as const,
  ["HTTP/2", path, (request: TrailerRequest) => sendOverHttp2(secure.port, { ...request, path })] as const,
]);
const TE: Fields = [["te", "trailers"]];
const twice = (name: string): Fields => [
  [name, "one"],
  [name, "two"],
];
const upstreamOf = (path: string): TrailerUpstream => upstreams[path === "/http2" ? 1 : 0] as TrailerUpstream;

describe.each(PAIRS)("from %s to %s", (_version, path, send) => {
  const ask = async (request: TrailerRequest): Promise<TrailerAnswer> => {
    const answer = await send({ ...request, headers: [...TE, ...(request.headers ?? [])] });
    expect(answer).toMatchObject({ status: 200, body: "answer", isWhole: true });
    expect(logged).toBe("");
    return answer;
  };

  test.each(["user-agent", "referer", "range", "if-match", "if-none-match", "dnt", "from", "date", "x-any"])(
    "a second %s of a request reaches the upstream",
    async (name) => {
      await ask({ headers: twice(name) });
      const seen = upstreamOf(path).seen.at(-1)?.headers ?? {};
      // node:http2 keeps the first where it expects one.
      expect(["one", "one, two", "one; two"]).toContain(seen[name]);
    },
  );

  test.each(["etag", "last-modified", "dnt", "tk", "x-any"])("also a second trailer %s of a request", async (name) => {
    await ask({ trailers: twice(name) });
    expect(upstreamOf(path).seen.at(-1)?.trailers).toEqual(twice(name));
  });

  test.each(["date", "etag", "last-modified", "age", "location", "content-type", "x-any"])(
    "a second %s of an answer reaches the client",
    async (name) => {
      upstreamOf(path).answer([], twice(name));
      expect(["one", "one, two", "one; two"]).toContain((await ask({})).headers[name]);
    },
  );

  test.each(["etag", "last-modified", "dnt", "tk", "x-any"])("also a second trailer %s of a response", async (name) => {
    upstreamOf(path).answer(twice(name));
    expect((await ask({})).trailers).toEqual(twice(name));
  });
});
