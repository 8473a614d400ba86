/** Rules between the settings of the listeners. */
import type { ListenerDoc } from "./settings.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { accepted, isLoopbackHost, parseListener } from "../../settings/values.ts";

/** Development mode weakens the guarded fetch, so only this host may reach the listener. */
export function* developmentListeners(
  settings: Partial<ListenerDoc> & { readonly development?: boolean },
): Iterable<UnplacedProblem> {
  if (settings.development !== true) return;
  for (const name of ["address", "admin_address", "http_redirect_address"] as const) {
    const written = settings[name];
    if (written !== undefined && !isLoopbackHost(accepted(parseListener(written)).host)) {
      yield errorAt([name], 'must be on loopback with "development", such as "127.0.0.1:8080"');
    }
  }
}

/** A listener uses either TLS or plain HTTP. */
export function* tlsListener(settings: Partial<ListenerDoc> & { readonly acme?: unknown }): Iterable<UnplacedProblem> {
  const { certificates, insecure_server: insecure, http_redirect_address: redirect, downstream_mtls: mtls } = settings;
  const isTls = certificates !== undefined || settings.acme !== undefined;
  if (certificates?.length === 0) yield errorAt(["certificates"], "is an empty list, must have a certificate");
  if (certificates && insecure === true)
    yield errorAt(["certificates"], 'cannot be combined with "insecure_server": true');
  if (mtls && !isTls) yield errorAt(["downstream_mtls"], 'requires "certificates" or "acme"');
  if (mtls?.enforcement === "reject_connection" && settings.acme !== undefined && redirect === undefined)
    yield errorAt(
      ["downstream_mtls", "enforcement"],
      'requires "http_redirect_address" with "acme": the certificate authority validates hosts without a client certificate',
    );
  if (redirect !== undefined && !isTls)
    yield errorAt(
      ["http_redirect_address"],
      'requires "certificates" or "acme": there is no https listener to redirect to',
    );
}

/** Without a proxy in front, every client could set these headers. */
export function* proxyHeaders(settings: Partial<ListenerDoc>): Iterable<UnplacedProblem> {
  const { trusted_proxy_headers: names = [], xff_num_trusted_hops: hops = 0, use_proxy_protocol: proxied } = settings;
  if (names.length > 0 && hops === 0 && proxied !== true)
    yield errorAt(["trusted_proxy_headers"], 'requires "xff_num_trusted_hops" above 0 or "use_proxy_protocol": true');
}
