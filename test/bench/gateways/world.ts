/** What all gateways share: the upstream, the issuer of JWTs, the provider where users sign in, a certificate. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startIdentityProvider } from "../../../examples/demo/identity-provider.ts";
import { trustedCertificate } from "../common/certificate.ts";
import { startChild } from "../common/child.ts";
import { runBeforeOthers } from "../common/steady-load.ts";
import { PROVIDER_CLIENT } from "./contender.ts";
import { startIssuer } from "./issuer.ts";
import type { World } from "./stage.ts";

export interface OpenWorld extends World {
  /** Runs the upstream before other processes from now on, but not before clients at fixed rates, whose clocks must be right. */
  preferUpstream(): void;
  close(): Promise<void>;
}

export async function openWorld(show: World["show"]): Promise<OpenWorld> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-comparison-"));
  const upstream = await startChild("rest", process.execPath, [join(import.meta.dirname, "upstream.ts")]);
  const issuer = await startIssuer();
  const provider = await startIdentityProvider({
    clients: [{ ...PROVIDER_CLIENT, redirect_uris: ["http://127.0.0.1/none"] }],
  });
  const tls = await trustedCertificate(directory);
  return {
    directory,
    upstream: upstream.port,
    issuer,
    provider,
    tls,
    show,
    preferUpstream() {
      try {
        runBeforeOthers(upstream.pid, 1);
      } catch {
        // Not permitted here: the upstream alone is in the figures.
      }
    },
    async close() {
      await upstream.stop();
      await provider.close();
      await issuer.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
