/** One route for each thing that header settings can do. In your own program the imports are from "gateform/cdktf". */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, LocalBackend, TerraformStack } from "cdktf";

import {
  allow,
  authenticatedUser,
  Gateway,
  gatewayToken,
  headerValue,
  requestHeader,
  Route,
} from "../../cdktf/index.ts";

export interface HeaderSettingsOptions {
  /** Where users reach the gateway. */
  readonly origin: string;
  /** The application, once as it is served over HTTP/1.1, once over HTTP/2. */
  readonly upstreams: { readonly http1: string; readonly http2: string };
  /** Where the files go; "cdktf.out" without it. */
  readonly outdir?: string;
}

export function buildHeaderSettings(options: HeaderSettingsOptions): {
  readonly app: App;
  readonly stack: TerraformStack;
} {
  const { origin, upstreams, outdir } = options;
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "header-settings");
  new LocalBackend(stack, { path: "terraform.tfstate" });

  const gateway = new Gateway(stack, "gateway", {
    owner: "headers",
    // For every route; a route's own setResponseHeaders win.
    setResponseHeaders: { "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer" },
  });

  // The same routes twice: settings mean the same whatever is spoken with the upstream.
  for (const [name, to] of Object.entries(upstreams)) {
    const http2 = name === "http2";
    const route = (rest: string) => ({
      from: origin,
      prefix: `/${name}/${rest}`,
      to,
      http2,
      policy: [allow(authenticatedUser())],
    });

    // Without any of the Host settings the upstream gets the host of `to`.
    new Route(gateway, `${name}-plain`, route("plain"));
    new Route(gateway, `${name}-preserved`, { ...route("preserved"), preserveHostHeader: true });
    new Route(gateway, `${name}-fixed`, { ...route("fixed"), hostRewrite: "www.example.com" });
    new Route(gateway, `${name}-by-header`, { ...route("by-header"), hostRewriteHeader: "X-Original-Host" });
    // …/by-path/tenant-a.internal/index.html goes upstream with "Host: tenant-a.internal".
    new Route(gateway, `${name}-by-path`, {
      ...route("by-path"),
      hostPathRegexRewritePattern: `^/${name}/by-path/([^/]+)/.+$`,
      hostPathRegexRewriteSubstitution: "\\1",
    });

    new Route(gateway, `${name}-request`, {
      ...route("request"),
      setRequestHeaders: {
        // Text is sent as it stands, dollars included, and replaces what the client sent.
        "X-Plan": "pro ($5)",
        // With a user's token the application can act as the user elsewhere: pass it with care.
        "X-User-Token": headerValue`Bearer ${gatewayToken.accessToken}`,
        "X-Id-Token": gatewayToken.idToken,
        "X-Identity": gatewayToken.jwt,
        "X-Certificate": gatewayToken.clientCertFingerprint,
        "X-Browser": headerValue`seen: ${requestHeader("User-Agent")}`,
      },
      removeRequestHeaders: ["X-Debug", "X-Internal"],
    });

    new Route(gateway, `${name}-response`, {
      ...route("response"),
      setResponseHeaders: { "X-Frame-Options": "DENY" },
      // The application redirects to its own address; users are sent to theirs.
      rewriteResponseHeaders: [{ header: "Location", prefix: `${to}/`, value: `${origin}/` }],
    });
  }

  return { app, stack };
}

if (import.meta.main) {
  const upstreams = { http1: "http://app.internal:8080", http2: "http://app.internal:8081" };
  buildHeaderSettings({ origin: "https://app.example.com", upstreams }).app.synth();
}
