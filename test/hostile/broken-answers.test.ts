/**
 * Responses that are aborted in the middle, by the upstream or because the right to them ends: the client notices the abort
 * on any kind of connection, and the gateway continues.
 */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { openListenerCertificates, type ListenerCertificates } from "../support/certificates.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { answerOk, startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let listener: ListenerCertificates;
const pipelines: Pipeline[] = [];
/** Connections to the victim with half a response. */
const halfway: Socket[] = [];
const open: Socket[] = [];

/** Parts of a response before it is aborted. */
const BEGINNINGS: Readonly<Record<string, string>> = {
  "/chunks": "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
  "/length": "content-length: 100000\r\n\r\nhello",
  "/close": "connection: close\r\n\r\nhello",
};

beforeAll(async () => {
  victim = await startVictim((request, socket) => {
    const beginning = BEGINNINGS[request.target];
    if (beginning === undefined) {
      answerOk(request, socket);
      return;
    }
    halfway.push(socket);
    socket.write(`HTTP/1.1 200 OK\r\n${beginning}`);
  });
  listener = await openListenerCertificates("app.example");
  const yaml = `
  routes:
    - { from: https://app.example, to: "${victim.origin}", policy: [{ allow: { and: [{ domain: { is: example.com } }] } }] }
`;
  pipelines.push(await startPipeline(yaml), await startPipeline(yaml, { certificates: listener.certificates }));
});
afterAll(async () => {
  await Promise.all(pipelines.map((each) => each.close()));
  await listener.close();
  await victim.close();
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

function dial(pipeline: Pipeline, isTls: boolean): Socket {
  const socket = isTls
    ? connectTls({ port: pipeline.port, host: "127.0.0.1", servername: "app.example", rejectUnauthorized: false })
    : connect(pipeline.port, "127.0.0.1");
  open.push(socket);
  return socket;
}

const head = (path: string, version: string, user: string): string =>
  `GET ${path} HTTP/${version}\r\nHost: app.example\r\nCookie: gateway_session=${user}\r\n\r\n`;

/** @returns the code of the error with which the connection ended; "none" for an end that looks good */
async function endOf(
  socket: Socket,
  path: string,
  version: string,
  user: string,
  breakIt: () => void,
): Promise<string> {
  const ended = new Promise<string>((resolve) => {
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on("close", () => resolve("none"));
  });
  let text = "";
  await new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (text.includes("hello")) resolve();
    });
    socket.write(head(path, version, user));
  });
  breakIt();
  return await ended;
}

describe.each([
  ["TCP", 0],
  ["TLS", 1],
])("over %s", (_name, index) => {
  const pipeline = (): Pipeline => pipelines[index] as Pipeline;
  const cases = Object.keys(BEGINNINGS).flatMap((path) => ["1.1", "1.0"].map((version) => [path, version] as const));

  test.each(cases)("an upstream that breaks off: %s to HTTP/%s", async (path, version) => {
    const socket = dial(pipeline(), index === 1);
    const outcome = await endOf(socket, path, version, "alice", () => halfway.pop()?.resetAndDestroy());
    expect(outcome).toBe("ECONNRESET");
  });

  test.each(cases)("a right that ends meanwhile: %s to HTTP/%s", async (path, version) => {
    const socket = dial(pipeline(), index === 1);
    const user = `user${path.slice(1)}${version === "1.1" ? "new" : "old"}`;
    const outcome = await endOf(socket, path, version, user, () => pipeline().revocations.revokeNow(`user:${user}`));
    expect(outcome).toBe("ECONNRESET");
  });
});
