/** Headers in which proxies describe their client; shared/http/header-traits.ts decides how they are handled. */

/**
 * Claims of load balancers, content delivery networks and sign-in proxies about their client: its address, certificate,
 * user. From any other sender they are forgeries that upstreams believe. They are forwarded only if the operator states
 * that such a proxy runs in front of the gateway and sets them (`trusted_proxy_headers`).
 */
const PROXY_CLAIMS = [
  // Addresses.
  "x-real-ip",
  "x-client-ip",
  "client-ip",
  "true-client-ip",
  "x-cluster-client-ip",
  "x-remote-ip",
  "x-remote-addr",
  "remote-addr",
  "x-originating-ip",
  "x-proxyuser-ip",
  "proxy-client-ip",
  "wl-proxy-client-ip",
  "x-original-forwarded-for",
  "cf-connecting-ip",
  "cf-connecting-ipv6",
  "cf-pseudo-ipv4",
  "cf-ipcountry",
  "fastly-client-ip",
  "fly-client-ip",
  "do-connecting-ip",
  "x-nf-client-connection-ip",
  "x-vercel-forwarded-for",
  "x-appengine-user-ip",
  "x-azure-clientip",
  "x-azure-socketip",
  // Requested scheme and port.
  "x-scheme",
  "x-url-scheme",
  "front-end-https",
  "x-original-proto",
  "x-original-port",
  // Certificates (RFC 9440 and earlier).
  "client-cert",
  "client-cert-chain",
  "x-client-verify",
  "x-client-dn",
  "x-arr-clientcert",
  // Users.
  "remote-user",
  "remote-name",
  "remote-email",
  "remote-groups",
  "x-remote-user",
  "x-remote-group",
  "x-remote-groups",
  "x-remote-email",
  "x-webauth-user",
  "x-webauth-email",
  "x-webauth-groups",
] as const;

/** The same for prefixes that some proxies use. */
const PROXY_CLAIM_PREFIXES = [
  "x-envoy-",
  "x-auth-request-",
  "x-remote-extra-",
  "x-authentik-",
  "x-pomerium-",
  "x-ssl-client-",
  "ssl-client-",
  "x-client-cert",
  "x-amzn-mtls-",
  "x-amzn-oidc-",
  "x-authenticated-",
  "x-consumer-",
  "x-goog-authenticated-",
  "x-goog-iap-",
  "x-vouch-",
  "cf-access-",
  "cloudfront-viewer-",
  "tailscale-user-",
  "x-ms-client-principal",
  "x-ms-token-",
] as const;

const names: ReadonlySet<string> = new Set(PROXY_CLAIMS);

/** True for names allowed in `trusted_proxy_headers`. @param lower in lower case */
export function isProxyClaimName(lower: string): boolean {
  return names.has(lower) || PROXY_CLAIM_PREFIXES.some((prefix) => lower.startsWith(prefix));
}
