/** The gateways of the fault injection, and how they learn which guard must throw. */
import { join } from "node:path";

import { createExternalTokens, EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { type CertificateFolder, makeTestCertificate } from "./certificates.ts";
import { TEST_SHARED_SECRET } from "./config.ts";
import type { FaultAnswer, FaultQuestion } from "./fault-places.ts";
import { LATE, MCP, type Kind } from "./fault-scenarios.ts";
import type { FaultUpstream } from "./fault-upstream.ts";
import { runGateway, type RunningGateway } from "./run-gateway.ts";

const HOOK = new URL("./fault-hook.ts", import.meta.url).pathname;
const MAIN = new URL("../../runtime/main.ts", import.meta.url).pathname;

export interface World {
  readonly folder: CertificateFolder;
  readonly upstream: FaultUpstream;
  /** Upstream of the other clients' requests. */
  readonly other: FaultUpstream;
}

/** A gateway of its own, with all protocols. @param isChecking its upstreams have health checks */
export async function startFaultGateway(kind: Kind, { folder, upstream, other }: World, isChecking = false) {
  const isTls = kind === "TLS";
  const scheme = isTls ? "https" : "http";
  const labels = ["app", "late", "grpc", "secure", "securegrpc", "held", "heldgrpc", "mcp"];
  const hosts = labels.map((label) => `${label}.localhost`);
  const { certificateFile, keyFile } = await folder.write("listener", makeTestCertificate({ name: "a", dns: hosts }));
  const route = (host: string, to: string, more: object = {}): object => ({
    from: `${scheme}://${host}`,
    to,
    allow_public_unauthenticated_access: true,
    allow_websockets: true,
    ...more,
  });
  const held = { timeout: "0s", idle_timeout: "0s" };
  const grpc = { http2: true, allow_websockets: false };
  const tls = { tls_custom_ca: upstream.authority, tls_server_name: "localhost" };
  const check = { interval: "100ms", timeout: "10s" };
  const tcp = { send: { utf8: "GET / HTTP/1.1\r\nhost: a\r\n\r\n" }, receive: [{ utf8: "HTTP/1.1 200" }] };
  const checked = [
    { health_checks: [{ ...check, tcp_health_check: tcp }] },
    { ...grpc, health_checks: [{ ...check, grpc_health_check: {} }] },
  ];
  const gateway = await runGateway({
    channel: true,
    program: ["--import", HOOK, MAIN],
    boot: {
      audit: true,
      authorize_log_fields: ["request-id", "path"],
      ...(kind === "clear" && { use_proxy_protocol: true }),
      ...(isTls && {
        insecure_server: false,
        certificates: [{ certificate_file: certificateFile, certificate_key_file: keyFile }],
      }),
    },
    yaml: `runtime_flags: { mcp: true }
routes: ${JSON.stringify([
      ...(isChecking
        ? checked.map((each, at) => route(`checked${at}.localhost`, upstream.origins[at] ?? "", each))
        : []),
      route("app.localhost", upstream.origins[0]),
      route(LATE, upstream.origins[0], { timeout: "100ms" }),
      route("grpc.localhost", upstream.origins[1], grpc),
      route("secure.localhost", upstream.origins[2], tls),
      route("securegrpc.localhost", upstream.origins[3], { ...grpc, ...tls }),
      {
        from: `${scheme}://${MCP}`,
        to: upstream.origins[0],
        mcp: { server: { extra_paths: ["/tools/*"] } },
        allow_any_authenticated_user: true,
      },
      route("held.localhost", other.origins[0], held),
      route("heldgrpc.localhost", other.origins[1], { ...grpc, ...held }),
    ])}`,
  });
  const origin = gateway.origin.replace(/^http:/, `${scheme}:`);
  return { gateway, origin, token: isChecking ? "" : await makeToken(gateway) };
}

/** Token of a service account for all MCP servers: no user has to sign in. */
async function makeToken({ directory }: RunningGateway): Promise<string> {
  const clock = systemClock;
  const store = await openRecords(`sqlite:${join(directory, "gateway.db")}`, { clock, log: silentLog() });
  try {
    const account = await createServiceAccount({ store, clock }, { name: "ci", email: "", groups: [] });
    if (!account.ok) throw new Error(account.reason);
    const externalTokens = createExternalTokens({
      keys: createKeys([Buffer.from(TEST_SHARED_SECRET, "base64")]),
      clock,
    });
    return mintServiceAccountToken(externalTokens, account, EVERY_SERVER, Math.floor(clock.now() / 1000) + 3600);
  } finally {
    await store.close();
  }
}

export const ask = (gateway: RunningGateway, asked: FaultQuestion): Promise<FaultAnswer> =>
  new Promise((resolve) => {
    gateway.process.once("message", (answer: FaultAnswer) => resolve(answer));
    gateway.process.send(asked);
  });
