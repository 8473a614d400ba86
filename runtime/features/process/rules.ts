/** Rules between the settings of one source. */
import { type BootDoc, type SettingsDoc } from "../../config/settings.ts";
import { adminTokenRules } from "./admin-tokens.ts";
import { hostCertificateRules } from "../listener/host-certificates.ts";
import { fault, type Finding } from "../../settings/problem.ts";
import { decodeSharedSecret } from "./settings.ts";
import { isLoopbackHost, parseListener } from "../../settings/values.ts";

export function* settingsRules(settings: Partial<BootDoc & SettingsDoc>): Iterable<Finding> {
  yield* openidScope(settings);
  yield* sharedSecrets(settings);
  yield* adminTokenRules(settings);
  yield* developmentListeners(settings);
  yield* tlsListener(settings);
  yield* proxyHeaders(settings);
  yield* tracingHeaders(settings);
  yield* hostCertificateRules(settings.host_certificates ?? {});
  const { storage_url: storage = "memory:" } = settings;
  if (storage !== "memory:" && !/^(sqlite|postgres|postgresql):./.test(storage)) {
    yield fault(["storage_url"], 'must be "memory:" or begin with "sqlite:" or "postgres://"');
  }
}

/** Without this scope the provider answers as an OAuth server and says nothing of the user. @see OpenID Connect Core §3.1.2.1 */
function* openidScope({ idp_scopes: scopes }: Partial<SettingsDoc>): Iterable<Finding> {
  if (scopes && !scopes.includes("openid"))
    yield fault(["idp_scopes"], 'lacks "openid", without which nobody can sign in');
}

/** Only secrets in plain text can be judged here; the others are when the snapshot is made. */
function* sharedSecrets(settings: Partial<BootDoc>): Iterable<Finding> {
  const wish = "must be base64 of at least 32 bytes, make one with `openssl rand -base64 32`";
  const { shared_secret: current, previous_shared_secret: previous = [] } = settings;
  if (current !== undefined && !decodeSharedSecret(current)) yield fault(["shared_secret"], wish);
  const earlier = typeof previous === "string" ? [previous] : previous;
  for (const [index, secret] of earlier.entries()) {
    const path = typeof previous === "string" ? [] : [index];
    if (!decodeSharedSecret(secret)) yield fault(["previous_shared_secret", ...path], wish);
  }
}

/** Development mode weakens the guarded fetch, so nobody else may reach it. */
function* developmentListeners(settings: Partial<BootDoc>): Iterable<Finding> {
  if (settings.development !== true) return;
  for (const name of ["address", "admin_address", "http_redirect_address"] as const) {
    if (name === "http_redirect_address" && settings[name] === undefined) continue;
    const listener = parseListener(settings[name] ?? "");
    if (listener.ok && !isLoopbackHost(listener.value.host)) {
      yield fault([name], 'must be on loopback with "development", such as "127.0.0.1:8080"');
    }
  }
}

/** One listener speaks either TLS or plain HTTP. */
function* tlsListener(settings: Partial<BootDoc>): Iterable<Finding> {
  const { certificates, insecure_server: insecure, http_redirect_address: redirect, downstream_mtls: mtls } = settings;
  if (certificates?.length === 0) yield fault(["certificates"], "is an empty list, must have a certificate");
  if (certificates && insecure === true)
    yield fault(["certificates"], 'cannot stand beside "insecure_server": true, must be one of them');
  if (mtls && !certificates) yield fault(["downstream_mtls"], 'needs "certificates" beside it');
  if (redirect !== undefined && !certificates)
    yield fault(["http_redirect_address"], 'needs "certificates" beside it, there is nothing to redirect to');
}

/** Without a proxy before us every client could write them. */
function* proxyHeaders(settings: Partial<BootDoc>): Iterable<Finding> {
  const { trusted_proxy_headers: names = [], xff_num_trusted_hops: hops = 0, use_proxy_protocol: proxied } = settings;
  if (names.length > 0 && hops === 0 && proxied !== true)
    yield fault(
      ["trusted_proxy_headers"],
      'needs "xff_num_trusted_hops" above 0 or "use_proxy_protocol": true beside it',
    );
}

function* tracingHeaders({ tracing }: Partial<BootDoc>): Iterable<Finding> {
  for (const [name, header] of Object.entries(tracing?.headers ?? {})) {
    if (Object.keys(header).length === 0)
      yield fault(["tracing", "headers", name], 'has no value, must have "value", "value_ref" or "value_sealed"');
  }
}
