/** Opens the public listener, the plain one next to it, and their certificates. Part of the composition root. */
import type { Acme } from "./acme/acme.ts";
import type { CoreServices, Own } from "./core-services.ts";
import { openCertificates } from "./http/listener/certificates.ts";
import { connectionLimits } from "./http/listener/connection-limits.ts";
import { createHostCertificates } from "./http/listener/host-certificates.ts";
import { startPlainServer } from "./http/listener/plain-server.ts";
import type { Exchange } from "./http/exchange.ts";
import { createHttpServer, type HttpServerOptions } from "./http/listener/server.ts";
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
  const handle = (exchange: Exchange): void => {
    if (branding) exchange.branding = proxy.servesHost(exchange.host) ? branding.branding : branding.elsewhere;
    proxy.handle(exchange);
  };
  const common = {
    sendTimeoutMs: boot.sendTimeoutMs,
    queueTimeoutMs: boot.queueTimeoutMs,
    proxyProtocol: boot.useProxyProtocol,
    forwardedFor: boot.forwardedFor,
    log,
    onRefused: (reason) => metrics.refused(reason),
    onUnanswered: (by, requests) => metrics.unanswered(by, requests),
  } satisfies Partial<HttpServerOptions>;
  const server = await createHttpServer({
    address: boot.address,
    insecure: boot.insecureServer,
    certificates,
    maxConnections: limits.public,
    handle,
    ...common,
  });
  own({ close: () => server.close({ timeoutMs: boot.drainTimeoutMs }) });
  const { httpRedirectAddress: address } = boot;
  if (address !== undefined) {
    const plain = await startPlainServer({
      ...common,
      address,
      securePort: server.port,
      servesHost: (host) => proxy.servesHost(host),
      plain: { servesHost: (host) => proxy.servesPlainHost(host), handle },
      challengeAnswer: acme && ((host, token) => acme.issued.httpAnswer(host, token)),
      maxConnections: limits.other,
      parties: server.parties,
    });
    own({ close: () => plain.close({ timeoutMs: boot.drainTimeoutMs }) });
  }
  if (acme && certificates) {
    const byTls = clients?.rejectConnection === true ? [] : (["tls-alpn-01"] as const);
    const byHttp = address === undefined ? [] : (["http-01"] as const);
    acme.start({ covers: (host) => certificates.covers(host), challenges: [...byTls, ...byHttp] });
  }
  return { server, certificates };
}
