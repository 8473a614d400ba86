/**
 * Addresses that sinks and the webhook may connect to: all but link-local and cloud metadata addresses, whatever DNS
 * returns.
 */
import { readFile } from "node:fs/promises";
import { isIP, type LookupFunction } from "node:net";
import type { SecureContextOptions } from "node:tls";

import type { SinkTls } from "../../features/records/compiled.ts";
import { lookUp } from "../../shared/net/name-lookup.ts";
import { addressKind } from "../../shared/net/safe-address.ts";
import { bareHost } from "../../shared/net/bare-host.ts";

/** @throws Error when one of its addresses is forbidden: DNS rebinding mixes a forbidden address with allowed ones */
export const reachableLookup: LookupFunction = (hostname, options, callback) => {
  lookUp(hostname, hostname, (error, found) => {
    const bad = error ? undefined : found.find(({ address }) => addressKind(address) === "forbidden");
    const failure = error ?? (bad && forbidden()) ?? (found.length === 0 ? new Error("no address") : null);
    if (failure) callback(failure, "", 0);
    else if (options.all === true) callback(null, [...found]);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  });
};

/** Literal addresses never reach the look-up. @throws Error */
export function refuseForbidden(host: string): void {
  const bare = bareHost(host);
  if (isIP(bare) !== 0 && addressKind(bare) === "forbidden") throw forbidden();
}

function forbidden(): Error {
  return new Error("it is at a link-local or cloud metadata address");
}

/** Read for each connection: certificates are renewed while the process runs. */
export async function tlsOptions(host: string, tls: SinkTls): Promise<SecureContextOptions & { servername?: string }> {
  const read = async (path: string | undefined): Promise<Buffer | undefined> =>
    path === undefined ? undefined : readFile(path);
  const [ca, cert, key] = await Promise.all([read(tls.caFile), read(tls.certificateFile), read(tls.keyFile)]);
  const servername = tls.serverName ?? (isIP(bareHost(host)) === 0 ? host : undefined);
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(servername !== undefined && { servername }),
    minVersion: "TLSv1.2",
  };
}

/** For the log and `/status`: the failure, without any text of the other side. */
export function failureText(host: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? `${host}: ${message}` : `${host}: ${code}`;
}
