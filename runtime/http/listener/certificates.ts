/**
 * The certificates of the public listener: from files, from slices for their hosts, and automatic ones. Chosen by the name that a client
 * requests (SNI), and reloaded when the files change.
 *
 * Promise: an unusable change (incomplete file, key of another certificate) is logged and keeps the previous certificate;
 * open connections keep the certificate they started with.
 */
import { constants, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";

import { checkKey, namesOf, wildcardAbove } from "../../features/listener/certificate.ts";
import { timeProblem } from "../../features/listener/certificate-end.ts";
import type { HostCertificate } from "../../features/listener/compiled.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Closable } from "../../shared/clock.ts";
import type { IssuedCertificates } from "./issued-certificates.ts";
import type { HostCertificates } from "./host-certificates.ts";
import { recur } from "../../shared/timing/recurring.ts";

export interface CertificateFiles {
  /** PEM: the certificate, then those between it and the root. */
  readonly certificateFile: string;
  /** PEM, not encrypted. */
  readonly keyFile: string;
}

/** The trusted authorities of client certificates. */
export interface ClientAuthorities {
  /** PEM of the authorities. */
  readonly caFile: string;
  /** Whether the handshake fails without a valid certificate. */
  readonly rejectConnection: boolean;
}

export interface Certificates extends Closable {
  /** Set: clients are asked for certificates. */
  readonly clients: ClientAuthorities | undefined;
  /** For clients that name no host, and what TLS needs at start. */
  readonly fallback: SecureContextOptions;
  /** @returns undefined: the fallback */
  find(serverName: string): SecureContext | undefined;
  /** Set if orders can be pending. @returns what a validation by TLS-ALPN-01 expects for this name */
  readonly challenge: ((serverName: string) => SecureContext | undefined) | undefined;
  /** Whether a certificate of a file or slice is used for a host. @param host lower case */
  covers(host: string): boolean;
  /** Certificates of the files, in their order, as active now. */
  leaves(): readonly X509Certificate[];
  /** Checks the files now. @returns true when something changed and is active */
  reload(): Promise<boolean>;
  /** Called after each change, with the new fallback. */
  onChange(listener: (fallback: SecureContextOptions) => void): void;
}

export interface CertificateDeps {
  readonly log: Log;
  readonly clients?: ClientAuthorities | undefined;
  /** Certificates from slices; absent: there are none. */
  readonly hosts?: HostCertificates | undefined;
  /** Automatic ones; absent: there are none. */
  readonly issued?: IssuedCertificates | undefined;
  /** Default 2 s; files are compared by content, so that renames and symlink swaps are seen alike. */
  readonly pollMs?: number;
}

export interface LoadedCertificate {
  readonly text: string;
  readonly leaf: X509Certificate;
  readonly names: readonly string[];
  readonly options: SecureContextOptions;
  readonly context: SecureContext;
}

const POLL_MS = 2_000;
/**
 * In TLS 1.2 a client could renegotiate, without limit and with another certificate. That certificate would count as valid
 * because the first one was, which Node checks once.
 */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;

/** @param files the first is the fallback; [] only with automatic certificates. @throws GatewayError `http.certificate` when one cannot be used at start */
export async function openCertificates(
  files: readonly CertificateFiles[],
  { log, clients, hosts, issued, pollMs = POLL_MS }: CertificateDeps,
): Promise<Certificates> {
  let authorities = await loadAuthorities(clients?.caFile);
  let loaded = await loadCertificates(files, authorities);
  let byName = indexOf(loaded);
  let listener: (fallback: SecureContextOptions) => void = () => {};
  /** Ensures that a broken file is logged once, not with each check. */
  let lastReason = "";
  /** Created when a client first requests the host, with the current authorities. */
  let contexts = new WeakMap<HostCertificate, SecureContext>();

  const certificates: Certificates = {
    clients,
    get fallback() {
      return loaded[0]?.options ?? optionsOf(issued?.first(), authorities);
    },
    challenge: issued && ((serverName) => contextOf(issued.challenge(serverName))),
    covers(host) {
      const above = wildcardAbove(host);
      return [host, above].some((name) => byName.has(name) || hosts?.find(name, host) !== undefined);
    },
    find(serverName) {
      const above = wildcardAbove(serverName);
      const own =
        byName.get(serverName) ?? contextOf(hosts?.find(serverName, serverName)) ?? contextOf(issued?.find(serverName));
      const wide = own ?? byName.get(above) ?? contextOf(hosts?.find(above, serverName));
      return wide ?? contextOf(hosts?.findUnserved(serverName));
    },
    leaves: () => loaded.map(({ leaf }) => leaf),
    async reload() {
      try {
        const nextAuthorities = await loadAuthorities(clients?.caFile);
        const next = await loadCertificates(files, nextAuthorities, loaded);
        lastReason = "";
        const isSame = String(nextAuthorities) === String(authorities);
        if (isSame && next.every((each, index) => each === loaded[index])) return false;
        authorities = nextAuthorities;
        loaded = next;
        byName = indexOf(loaded);
        contexts = new WeakMap();
        listener(certificates.fallback);
        log.info({ names: [...byName.keys()] }, "certificates reloaded");
        return true;
      } catch (error) {
        const reason = errorText(error);
        if (reason !== lastReason) log.error({ reason }, "cannot reload certificates, previous ones stay active");
        lastReason = reason;
        return false;
      }
    },
    onChange(next) {
      listener = next;
    },
    close() {
      stopTimer();
      return Promise.resolve();
    },
  };
  issued?.onChange(() => {
    if (loaded.length === 0) listener(certificates.fallback);
  });
  const stopTimer = recur("check of certificate files", pollMs, () => certificates.reload());
  return certificates;

  function contextOf(certificate: HostCertificate | undefined): SecureContext | undefined {
    if (!certificate) return undefined;
    const known = contexts.get(certificate);
    if (known) return known;
    // Without the configured authorities, client certificates of all public authorities would be trusted.
    try {
      const made = createSecureContext(optionsOf(certificate, authorities));
      contexts.set(certificate, made);
      return made;
    } catch (error) {
      // It was validated when it was loaded. No other error may end the process in the middle of a handshake.
      log.error({ host: certificate.host, reason: errorText(error) }, "cannot use certificate of slice");
      return undefined;
    }
  }
}

/**
 * Without a certificate, handshakes fail until the first one is issued.
 *
 * @param ca undefined: no client is asked for a certificate
 */
function optionsOf(certificate: HostCertificate | undefined, ca: Buffer | undefined): SecureContextOptions {
  const own = certificate && { cert: certificate.certificate, key: certificate.key };
  return { ...own, secureOptions, ...(ca && { ca }) };
}

/**
 * Reads and checks the CA file of client certificates.
 *
 * @throws GatewayError `http.certificate`
 */
export async function loadAuthorities(caFile: string | undefined): Promise<Buffer | undefined> {
  if (caFile === undefined) return undefined;
  try {
    const ca = await readFile(caFile);
    // OpenSSL ignores a file without an authority, and then rejects every client.
    if (!new X509Certificate(ca).ca) throw new TypeError("it has no certificate of a CA");
    return ca;
  } catch (cause) {
    const file = JSON.stringify(caFile);
    throw new GatewayError("http.certificate", `Cannot use CA of client certificates ${file}: ${errorText(cause)}`, {
      cause,
    });
  }
}

/**
 * Reads and checks the files, for the listener's start.
 *
 * @param ca of client certificates
 * @param earlier previous content of the files, in their order; returned for unchanged files
 * @throws GatewayError `http.certificate`
 */
export function loadCertificates(
  files: readonly CertificateFiles[],
  ca: Buffer | undefined,
  earlier: readonly LoadedCertificate[] = [],
): Promise<readonly LoadedCertificate[]> {
  return Promise.all(files.map((each, index) => load(each, ca, earlier[index])));
}

async function load(
  files: CertificateFiles,
  ca: Buffer | undefined,
  earlier?: LoadedCertificate,
): Promise<LoadedCertificate> {
  try {
    const [cert, key] = await Promise.all([readFile(files.certificateFile), readFile(files.keyFile)]);
    const text = [cert, key, ca ?? ""].map((each) => each.toString("latin1")).join("\0");
    if (earlier?.text === text) return earlier;
    const leaf = new X509Certificate(cert);
    checkKey(leaf, key);
    // No client accepts an expired one. A certificate that expires while in use stays, and its expiry is reported.
    const problem = timeProblem(leaf, Date.now());
    if (problem !== undefined) throw new TypeError(problem);
    const options = { cert, key, secureOptions, ...(ca && { ca }) };
    return { text, leaf, names: namesOf(leaf), options, context: createSecureContext(options) };
  } catch (cause) {
    const file = JSON.stringify(files.certificateFile);
    throw new GatewayError("http.certificate", `Cannot use certificate ${file}: ${errorText(cause)}`, { cause });
  }
}

/** For a name in two certificates, the first in the list is used. */
function indexOf(loaded: readonly LoadedCertificate[]): ReadonlyMap<string, SecureContext> {
  const byName = new Map<string, SecureContext>();
  for (const { names, context } of loaded) for (const name of names) if (!byName.has(name)) byName.set(name, context);
  return byName;
}
