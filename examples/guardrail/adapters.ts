/** Checks by two public guardrail servers. Each adapter speaks the server's own HTTP API. */
import { deny, partOf, PASS, textsOf, withTexts, type Check } from "./verdict.ts";

const TIMEOUT_MS = 10_000;

/** @throws Error unless the response is 200 with a JSON object */
async function ask(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.status !== 200) throw new Error(`${new URL(url).host} answered ${response.status}`);
  return (await response.json()) as Record<string, unknown>;
}

/**
 * NVIDIA NeMo Guardrails: input rails for calls, output rails for results.
 *
 * @see "Running Checks with Guardrails", NVIDIA NeMo Guardrails microservice: `status` is "success" or "blocked"
 */
export function nemo({ url, model = "", config }: { url: string; model?: string | undefined; config: string }): Check {
  return async (question) => {
    const [, value] = partOf(question);
    const content = JSON.stringify(value);
    const asked = {
      role: "user",
      content: question.phase === "request" ? content : `Result of ${question.tool ?? "a tool"}`,
    };
    const messages = question.phase === "request" ? [asked] : [asked, { role: "assistant", content }];
    const { status } = await ask(url, { model, messages, guardrails: { config_id: config } });
    if (status === "success") return PASS;
    if (status === "blocked") return deny("blocked by NeMo Guardrails");
    throw new Error("NeMo Guardrails answered without a status");
  };
}

/**
 * LLM Guard: scanners deny, or sanitize each text.
 *
 * @see openapi.json of LLM Guard API: `is_valid`, `sanitized_prompt`, `sanitized_output`
 */
export function llmGuard({ url, token }: { url: string; token?: string | undefined }): Check {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return async (question) => {
    const [part, value] = partOf(question);
    const isCall = question.phase === "request";
    const failed = new Set<string>();
    const changed = await withTexts(value, async (text) => {
      if (text === "") return text;
      const answer = isCall
        ? await ask(`${url}/analyze/prompt`, { prompt: text }, headers)
        : await ask(`${url}/analyze/output`, { prompt: "", output: text }, headers);
      const sanitized = answer[isCall ? "sanitized_prompt" : "sanitized_output"];
      if (typeof answer["is_valid"] !== "boolean" || typeof sanitized !== "string")
        throw new Error("LLM Guard answered in another form");
      if (!answer["is_valid"]) for (const name of failing(answer["scanners"])) failed.add(name);
      return sanitized;
    });
    if (failed.size > 0) return deny(`LLM Guard: ${[...failed].join(", ")}`);
    const isSame = textsOf(value).join("\0") === textsOf(changed).join("\0");
    return isSame ? PASS : { verdict: "mutate", reason: "sanitized by LLM Guard", [part]: changed };
  };
}

/** Names of scanners with the highest risk score. */
function failing(scanners: unknown): readonly string[] {
  const scores = Object.entries((scanners ?? {}) as Record<string, number>);
  const most = Math.max(...scores.map(([, score]) => score));
  return scores.length === 0 ? ["not valid"] : scores.flatMap(([name, score]) => (score === most ? [name] : []));
}
