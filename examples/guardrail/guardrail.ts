/**
 * A guardrail service for `mcp.server.guardrail`, without dependencies: it verifies the gateway's signature, and answers with a
 * verdict.
 *
 * Run it with Node: `GUARDRAIL_KEY=… node guardrail.ts`. Settings are in the README.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import { llmGuard, nemo } from "./adapters.ts";
import { builtIn } from "./checks.ts";
import type { Check, Question } from "./verdict.ts";

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_AGE_SECONDS = 300;

/** @param env settings */
export function chooseCheck(env: NodeJS.ProcessEnv): Check {
  const { GUARDRAIL_CHECK: name = "built-in", GUARDRAIL_WORDS = "", NEMO_URL, NEMO_MODEL, NEMO_CONFIG } = env;
  switch (name) {
    case "built-in":
      return builtIn(GUARDRAIL_WORDS.split(",").flatMap((word) => word.trim() || []));
    case "nemo":
      return nemo({
        url: required(NEMO_URL, "NEMO_URL"),
        model: NEMO_MODEL,
        config: required(NEMO_CONFIG, "NEMO_CONFIG"),
      });
    case "llm-guard":
      return llmGuard({ url: required(env["LLM_GUARD_URL"], "LLM_GUARD_URL"), token: env["LLM_GUARD_TOKEN"] });
    default:
      throw new Error(`GUARDRAIL_CHECK is "${name}", must be built-in, nemo or llm-guard`);
  }
}

function required(value: string | undefined, name: string): string {
  if (value === undefined || value === "") throw new Error(`${name} is missing`);
  return value;
}

/** @param keys base64, of which one must have signed */
export function guardrailServer(keys: readonly string[], check: Check): ReturnType<typeof createServer> {
  const raw = keys.map((key) => Buffer.from(key, "base64"));
  return createServer((request, response) => {
    answer(request, response, raw, check).catch((error: unknown) => {
      // Anything but a verdict in a 200 denies.
      console.error(String(error));
      response.writeHead(500).end();
    });
  });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  keys: readonly Buffer[],
  check: Check,
): Promise<void> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length > MAX_BYTES) return void response.writeHead(413).end();
    chunks.push(chunk as Buffer);
  }
  const body = Buffer.concat(chunks).toString("utf8");
  if (!isSigned(request, body, keys)) return void response.writeHead(401).end();
  const verdict = JSON.stringify(await check(JSON.parse(body) as Question));
  response.writeHead(200, { "content-type": "application/json" }).end(verdict);
}

/** @see Standard Webhooks, "Verifying signatures" */
function isSigned({ headers }: IncomingMessage, body: string, keys: readonly Buffer[]): boolean {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) =>
    String(headers[`webhook-${name}`]),
  );
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (Number.isNaN(age) || age > MAX_AGE_SECONDS) return false;
  const given = (signatures ?? "").split(" ").map((each) => Buffer.from(each));
  return keys.some((key) => {
    const expected = Buffer.from(
      `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
    );
    return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
  });
}

if (import.meta.main) {
  const keys = required(process.env["GUARDRAIL_KEY"], "GUARDRAIL_KEY").split(" ");
  const server = guardrailServer(keys, chooseCheck(process.env));
  const { GUARDRAIL_PORT = "8090", GUARDRAIL_HOST = "127.0.0.1" } = process.env;
  server.listen(Number(GUARDRAIL_PORT), GUARDRAIL_HOST, () => {
    const address = server.address();
    console.log(`guardrail on port ${typeof address === "object" ? address?.port : ""}`);
  });
  process.once("SIGTERM", () => server.close());
}
