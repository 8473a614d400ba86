/** Whether a gateway does what its row says, before and after it is measured. */
import { connect as connectHttp2 } from "node:http2";
import { createReadStream } from "node:fs";
import { request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

import { type Contender, type Credentials, NO_CREDENTIAL, type Running } from "./contender.ts";
import { type Answered, isRefusal, type Question, questionOf, REFUSED, type Work, wrongWith } from "./works.ts";

const PATIENCE_MS = 15_000;
/** Records are written behind responses. */
const RECORDS_WITHIN_MS = 10_000;

export interface Subject {
  readonly contender: Contender;
  readonly running: Running;
  readonly port: number;
  readonly credentials: Credentials;
}

/** @returns what is wrong; undefined if nothing is */
export async function verifyWork(work: Work, subject: Subject): Promise<string | undefined> {
  const { contender, running, port, credentials } = subject;
  const send = (question: Question): Promise<Answered> =>
    work.name === "http2" ? askHttp2(port, question) : ask(port, question);
  const right = wrongWith(work, await send(questionOf(work, running, credentials)), contender.showsAllTools === true);
  if (right !== undefined) return `the allowed user: ${right}`;
  if (contender.isOpen) return undefined;
  for (const { who, user } of REFUSED) {
    const other = user && (await running.credentials(user));
    const answer = await send(questionOf(work, running, other));
    if (!isRefusal(answer)) return `${who} was not refused: ${answer.status} ${answer.text.slice(0, 100)}`;
  }
  if (work.hasToolRule !== true || contender.cannot.tool !== undefined) return undefined;
  const denied = await send(questionOf(work, running, credentials, "delete_issue"));
  return isRefusal(denied) ? undefined : `a denied tool was not refused: ${denied.status} ${denied.text.slice(0, 100)}`;
}

/** @returns lines of each file of records */
export async function recordLines({ running: { records } }: Subject): Promise<readonly number[]> {
  return Promise.all(records.map((file) => linesOf(file).catch(() => 0)));
}

/** Of a file that can be larger than a string. */
async function linesOf(file: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  return lines;
}

/** @returns what is wrong; undefined once each file of records has so many lines more */
export async function verifyRecords(
  subject: Subject,
  before: readonly number[],
  more: number,
): Promise<string | undefined> {
  const until = performance.now() + RECORDS_WITHIN_MS;
  for (;;) {
    const now = await recordLines(subject);
    const short = now.findIndex((lines, at) => lines - (before[at] ?? 0) < more);
    if (short === -1) return undefined;
    if (performance.now() > until) return `it wrote fewer than ${more} records to ${subject.running.records[short]}`;
    await delay(500);
  }
}

export function headersOf({ credential, body }: Question): Record<string, string> {
  const at = credential.indexOf(":");
  return {
    accept: body === undefined ? "application/json" : "application/json, text/event-stream",
    ...(body !== undefined && { "content-type": "application/json", "mcp-protocol-version": "2025-06-18" }),
    [credential.slice(0, at)]: credential.slice(at + 1).trim(),
  };
}

export function ask(port: number, question: Question): Promise<Answered> {
  const { path, body } = question;
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        host: "127.0.0.1",
        port,
        path,
        method: body === undefined ? "GET" : "POST",
        headers: {
          host: `localhost:${port}`,
          ...headersOf(question),
          ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
        },
        agent: false,
        timeout: PATIENCE_MS,
      },
      (response) => {
        let [text, first, last] = ["", 0, 0];
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          last = performance.now();
          first ||= last;
          text += chunk;
        });
        response.on("error", reject);
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text, streamedMs: last - first }));
      },
    );
    sent.on("timeout", () => sent.destroy(new Error(`no answer from ${path} in ${PATIENCE_MS / 1000} s`)));
    sent.on("error", reject);
    sent.end(body);
  });
}

/** A GET. @throws Error where the server does not speak HTTP/2 */
function askHttp2(port: number, question: Question): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { servername: "localhost", rejectUnauthorized: false });
    session.on("error", reject);
    const stream = session.request({
      ":path": question.path,
      ":authority": `localhost:${port}`,
      ...headersOf(question),
    });
    let [text, status] = ["", 0];
    stream.setEncoding("utf8");
    stream.setTimeout(PATIENCE_MS, () => stream.destroy(new Error("no answer over HTTP/2")));
    stream.on("response", (headers) => (status = headers[":status"] ?? 0));
    stream.on("data", (chunk: string) => (text += chunk));
    stream.on("error", reject);
    stream.on("end", () => {
      session.close();
      resolve({ status, text, streamedMs: 0 });
    });
  });
}

/** Connections that the upstream has accepted so far. */
export async function upstreamConnections(upstream: number): Promise<number> {
  return Number((await ask(upstream, { path: "/connections", credential: NO_CREDENTIAL })).text);
}
