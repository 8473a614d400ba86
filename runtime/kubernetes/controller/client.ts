/**
 * The API server of a cluster, with the official client's configuration and authentication: kubeconfig, service account, exec
 * and OIDC plugins, proxies.
 *
 * Requests are our own and use plain JSON: the client's classes drop unknown members, its watch ignores lines it cannot parse
 * (an event lost without a trace), and it opens a new connection for every request.
 *
 * One HTTP/2 connection carries everything, and may die unnoticed. When undici waits in vain for a response, or for a byte of
 * one, it sends a PING, uses another connection meanwhile, and drops this one if the PING also gets no answer. So time limits
 * must be undici's own: signals only end the stream.
 */
import { readFile } from "node:fs/promises";

import type { KubeConfig } from "@kubernetes/client-node";
import { type Dispatcher, request } from "undici";

import { attempting, errorText, GatewayError } from "../../shared/errors.ts";
import { findTokenFile, mountedTokenFile, usualFiles } from "./kubeconfig.ts";
import {
  type KubeClient,
  KubeError,
  type KubeRequest,
  NAMESPACE_ENDS,
  rightAsked,
  SilentWatch,
} from "./kube-client.ts";
import { readWhole } from "../../shared/http/pieces.ts";
import { unknownCaCode } from "../../shared/net/unknown-ca.ts";
import { parseObject } from "../../shared/is-record.ts";

export interface ClientOptions {
  /** Text of a kubeconfig. */
  readonly kubeconfig?: string;
  /** The usual files and the pod's service account when both are absent. */
  readonly kubeconfigFile?: string;
  /** For the head of a response, and between two pieces of its body; watches use `silenceMs` instead. */
  readonly timeoutMs?: number;
  /** Longest time without a byte on a watch. */
  readonly silenceMs?: number;
  /** Called when a connection that no longer responds was dropped. */
  readonly onConnectionLost?: () => void;
  /** Called when the server reported this permission as missing ("list services"). */
  readonly onForbidden?: (right: string) => void;
}

const TIMEOUT_MS = 30_000;
/** The server sends a bookmark each minute, except for a collection that did not change since the listed version. */
const SILENCE_MS = 90_000;
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** An object in etcd has at most 1.5 MiB, and a line contains one object. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/** @throws GatewayError `kube.library`, `kube.config` */
export async function createKubeClient(options: ClientOptions = {}): Promise<KubeClient> {
  const library = await loadLibrary();
  const config = new library.KubeConfig();
  const { kubeconfig: text, kubeconfigFile: file } = options;
  await attempting("kube.config", "Cannot read the kubeconfig", () => {
    if (text !== undefined) config.loadFromString(text);
    else if (file !== undefined) config.loadFromFile(file);
    else config.loadFromDefault();
  });
  const files = text !== undefined ? [] : file !== undefined ? [file] : usualFiles();
  const user = config.getCurrentUser();
  const named = await attempting("kube.config", "Cannot read the kubeconfig", () =>
    findTokenFile(files, user?.name ?? ""),
  );
  const tokenFile = named ?? mountedTokenFile(user?.authProvider);
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) throw new GatewayError("kube.config", "Cannot reach a cluster: the kubeconfig names none");
  const base = server.replace(/\/$/, "");
  const { silenceMs = SILENCE_MS } = options;
  // One dispatcher for all requests: it holds the connections.
  let dispatcher: Dispatcher | undefined;
  let lostAtMs = -Infinity;

  return {
    request: async <T>(kubeRequest: KubeRequest) => {
      const timeoutMs = kubeRequest.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS;
      const answer = await send(kubeRequest, { headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
      return parse(await readAll(answer.body, MAX_ANSWER_BYTES, kubeRequest), kubeRequest) as T;
    },
    async *watch(kubeRequest) {
      const { onOpen, ...rest } = kubeRequest;
      const whole = { ...rest, method: "GET" } as const;
      const { body } = await send(whole, { headersTimeout: options.timeoutMs ?? TIMEOUT_MS, bodyTimeout: silenceMs });
      onOpen?.();
      try {
        yield* lines(body, whole);
      } catch (error) {
        if (!isCoded(error, "UND_ERR_BODY_TIMEOUT")) throw lost(error);
        throw new SilentWatch(kubeRequest.path, silenceMs);
      }
    },
    async close() {
      await dispatcher?.destroy();
      dispatcher = undefined;
    },
  };

  /** All requests of a connection fail with it: count that once. */
  function lost(error: unknown): unknown {
    if (isCoded(error, "UND_ERR_SOCKET") && performance.now() - lostAtMs > 1000) {
      lostAtMs = performance.now();
      options.onConnectionLost?.();
    }
    return error;
  }

  /** Drops the dispatcher; requests in progress on its connections finish there. */
  function startOver(): void {
    dispatcher?.close().catch(() => {});
    dispatcher = undefined;
  }

  async function send(
    kubeRequest: KubeRequest,
    limits: { readonly headersTimeout: number; readonly bodyTimeout: number },
  ): Promise<Dispatcher.ResponseData> {
    const url = new URL(base + kubeRequest.path);
    for (const [name, value] of Object.entries(kubeRequest.query ?? {})) url.searchParams.set(name, value);
    const headers = await authorize(url);
    headers["accept"] = "application/json";
    if (kubeRequest.body) {
      headers["content-type"] = kubeRequest.method === "PATCH" ? "application/merge-patch+json" : "application/json";
    }
    let answer: Dispatcher.ResponseData;
    try {
      answer = await request(url, {
        method: kubeRequest.method,
        headers,
        ...(kubeRequest.body && { body: JSON.stringify(kubeRequest.body) }),
        ...(dispatcher && { dispatcher }),
        ...(kubeRequest.signal && { signal: kubeRequest.signal }),
        ...limits,
      });
    } catch (error) {
      // Connecting failed: the authorities may have been replaced.
      if (kubeRequest.signal?.aborted !== true && !isUndicis(error)) startOver();
      throw unreachable(kubeRequest, lost(error));
    }
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer;
    // Certificates and tokens may have been replaced: the next request reads them again.
    if (answer.statusCode === 401) startOver();
    const refused = await refusal(answer, kubeRequest);
    if (refused.right !== undefined) options.onForbidden?.(refused.right);
    throw refused;
  }

  /** Headers with current tokens: service account tokens are replaced every hour. */
  async function authorize(url: URL): Promise<Record<string, string>> {
    const context = new library.RequestContext(url.href, library.HttpMethod.GET);
    await attempting("kube.unreachable", "Cannot authenticate to the cluster", () =>
      config.applySecurityAuthentication(context),
    );
    dispatcher ??= context.getDispatcher();
    if (tokenFile === undefined) return { ...context.getHeaders() };
    const token = await attempting("kube.config", "Cannot read the kubeconfig's tokenFile", () =>
      readFile(tokenFile, "utf8"),
    );
    return { ...context.getHeaders(), Authorization: `Bearer ${token.trim()}` };
  }
}

type Library = Pick<typeof import("@kubernetes/client-node"), "KubeConfig" | "RequestContext" | "HttpMethod">;

async function loadLibrary(): Promise<Library> {
  try {
    return await import("@kubernetes/client-node");
  } catch (error) {
    const expected = "install it next to gateform: npm install @kubernetes/client-node";
    throw new GatewayError("kube.library", `Cannot load "@kubernetes/client-node": ${expected}`, { cause: error });
  }
}

export type { KubeConfig };

async function readAll(body: AsyncIterable<Buffer>, maxBytes: number, kubeRequest: KubeRequest): Promise<string> {
  try {
    const whole = await readWhole(body, maxBytes);
    if (!whole) throw new Error(`the answer has more than ${maxBytes} bytes`);
    return whole.toString("utf8");
  } catch (error) {
    throw unreachable(kubeRequest, error);
  }
}

async function* lines(body: AsyncIterable<Buffer>, kubeRequest: KubeRequest): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8");
  let rest = "";
  try {
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      if (rest.length > MAX_LINE_LENGTH) throw new Error("a line of the watch is too long");
      for (const part of parts) if (part.trim() !== "") yield part;
    }
  } catch (error) {
    throw unreachable(kubeRequest, error);
  }
  // Drops an incomplete line; the object comes again with the next watch.
}

async function refusal(answer: Dispatcher.ResponseData, kubeRequest: KubeRequest): Promise<KubeError> {
  const text = await readAll(answer.body, 1024 * 1024, kubeRequest).catch(() => "");
  // Proxies send their own texts; the status code is enough.
  const status = parseObject(text) ?? {};
  const detail = typeof status["message"] === "string" ? status["message"] : `status ${answer.statusCode}`;
  const seconds = Number(answer.headers["retry-after"]);
  // The server also sends 403 for namespaces that are being deleted, for quotas and by admission; a Role changes none of
  // these.
  const lacksRight = answer.statusCode === 403 && / cannot \w+ resource "/.test(detail);
  const isEnding = detail.endsWith("because it is being terminated");
  return new KubeError(`Cannot ${kubeRequest.method} ${kubeRequest.path}: ${detail}`, {
    status: answer.statusCode,
    reason: isEnding ? NAMESPACE_ENDS : typeof status["reason"] === "string" ? status["reason"] : "",
    retryAfterMs: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined,
    right: lacksRight ? rightAsked(kubeRequest) : undefined,
  });
}

/** @param code of undici */
function isCoded(error: unknown, code: string): boolean {
  const { cause } = error instanceof GatewayError ? error : { cause: error };
  return cause instanceof Error && "code" in cause && cause.code === code;
}

function isUndicis(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("UND_ERR_");
}

function parse(text: string, kubeRequest: KubeRequest): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreachable(kubeRequest, new Error("the response is not JSON", { cause: error }));
  }
}

function unreachable({ method, path }: KubeRequest, error: unknown): GatewayError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = unknownCaCode(cause);
  // Node's own text names a command-line option that does not help here.
  const expected =
    "the API server's certificate is signed by another CA than the kubeconfig or the account's ca.crt has";
  const detail = code === undefined ? errorText(cause) : `${expected} (${code})`;
  return new GatewayError("kube.unreachable", `Cannot ${method} ${path}: ${detail}`, { cause: error });
}
