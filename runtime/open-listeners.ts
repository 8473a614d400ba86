/** Opens the public listener, the redirecting one next to it, and their certificates. Part of the composition root. */
import type { Acme } from "./acme/acme.ts";
import type { CoreServices, Own } from "./core-services.ts";
import { openCertificates } from "./http/listener/certificates.ts";
import { connectionLimits } from "./http/listener/connection-limits.ts";
import { createHostCertificates } from "./http/listener/host-certificates.ts";
import { startRedirectServer } from "./http/listener/redirect-server.ts";
import { createHttpServer } from "./http/listener/server.ts";
import type { Proxy } from "./proxy/handle.ts";

export async function openListeners(
  { boot, branding, bundle, metrics, log }: CoreServices,
  proxy: Proxy,
  acme: Acme | undefined,
  own: Own,
) {
  const clients = boot.downstreamMtls && {
    caFile: boot.downstreamMtls.caFile,
    rejectConnection: boot.downstreamMtls.enforcement === "reject_connection",
  };
  const hosts = createHostCertificates(bundle);
  const certificates =
    boot.certificates.length === 0 && !acme
      ? undefined
      : own(await openCertificates(boot.certificates, { log, clients, hosts, issued: acme?.issued }));
  const limits = connectionLimits(boot.maxConnections);
  const server = await createHttpServer({
    address: boot.address,
    insecure: boot.insecureServer,
    certificates,
    maxConnections: limits.public,
    sendTimeoutMs: boot.sendTimeoutMs,
    queueTimeoutMs: boot.queueTimeoutMs,
    proxyProtocol: boot.useProxyProtocol,
    forwardedFor: boot.forwardedFor,
    handle(exchange) {
      if (branding) exchange.branding = proxy.servesHost(exchange.host) ? branding.branding : branding.elsewhere;
      proxy.handle(exchange);
    },
    log,
    onRefused: (reason) => metrics.refused(reason),
    onUnanswered: (by, requests) => metrics.unanswered(by, requests),
  });
  own({ close: () => server.close({ timeoutMs: boot.drainTimeoutMs }) });
  const { httpRedirectAddress: address, useProxyProtocol: proxyProtocol } = boot;
  if (address !== undefined) {
    const servesHost = (host: string): boolean => proxy.servesHost(host);
    const maxConnections = limits.other;
    own(
      await startRedirectServer({
        address,
        securePort: server.port,
        servesHost,
        challengeAnswer: acme && ((host, token) => acme.issued.httpAnswer(host, token)),
        proxyProtocol,
        maxConnections,
        log,
      }),
    );
  }
  if (acme && certificates) {
    const byTls = clients?.rejectConnection === true ? [] : (["tls-alpn-01"] as const);
    const byHttp = address === undefined ? [] : (["http-01"] as const);
    acme.start({ covers: (host) => certificates.covers(host), challenges: [...byTls, ...byHttp] });
  }
  return { server, certificates };
}
