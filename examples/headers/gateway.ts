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

/** @param outdir where the files go; "cdktf.out" without it */
export function buildHeaders(outdir?: string): { readonly app: App; readonly stack: TerraformStack } {
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "headers");
  new LocalBackend(stack, { path: "terraform.tfstate" });

  const gateway = new Gateway(stack, "gateway", {
    owner: "headers",
    // For every route; a route's own setResponseHeaders win.
    setResponseHeaders: { "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer" },
  });
  const to = "http://app.internal:8080";
  const policy = [allow(authenticatedUser())];

  // Without any of these the upstream gets the host of `to`: "app.internal:8080".
  new Route(gateway, "preserved", { from: "https://preserved.example.com", to, policy, preserveHostHeader: true });
  new Route(gateway, "fixed", { from: "https://fixed.example.com", to, policy, hostRewrite: "www.example.com" });
  new Route(gateway, "by-header", {
    from: "https://by-header.example.com",
    to,
    policy,
    hostRewriteHeader: "X-Original-Host",
  });
  // /tenant-a.internal/index.html goes upstream with "Host: tenant-a.internal".
  new Route(gateway, "by-path", {
    from: "https://by-path.example.com",
    to,
    policy,
    hostPathRegexRewritePattern: "^/(.+)/.+$",
    hostPathRegexRewriteSubstitution: "\\1",
  });

  new Route(gateway, "request", {
    from: "https://request.example.com",
    to,
    policy,
    setRequestHeaders: {
      // Text is sent as it stands, dollars included.
      "X-Plan": "pro ($5)",
      "X-User-Token": headerValue`Bearer ${gatewayToken.accessToken}`,
      "X-Identity": gatewayToken.jwt,
      "X-Browser": headerValue`seen: ${requestHeader("User-Agent")}`,
    },
    removeRequestHeaders: ["X-Debug", "X-Internal"],
  });

  new Route(gateway, "response", {
    from: "https://response.example.com",
    to,
    policy,
    setResponseHeaders: { "X-Frame-Options": "DENY" },
    // The application redirects to its own address; users are sent to theirs.
    rewriteResponseHeaders: [
      { header: "Location", prefix: "http://app.internal:8080/", value: "https://response.example.com/" },
    ],
  });

  return { app, stack };
}

if (import.meta.main) buildHeaders().app.synth();
