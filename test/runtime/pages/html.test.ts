import { createHash } from "node:crypto";

import { describe, expect, it } from "vitest";

import { errorPage, errorTitle } from "../../../runtime/pages/error.ts";
import { dangerouslyTrustedHtml, html } from "../../../runtime/pages/html.ts";
import { contentSecurityPolicy, page, pageHeaders } from "../../../runtime/pages/layout.ts";

const PLACE = { host: "gateway.example.com" };

describe("html()", () => {
  it.each([
    ["text", "<script>alert(1)</script>", "&#60;script&#62;alert(1)&#60;/script&#62;"],
    ["double quote", `" onload="x`, "&#34; onload=&#34;x"],
    ["single quote", "' x", "&#39; x"],
    ["backtick", "`x`", "&#96;x&#96;"],
    ["ampersand", "&lt;", "&#38;lt;"],
  ])("escapes %s", (_what, value, expected) => {
    expect(html`<b title="${value}">${value}</b>`.toString()).toBe(`<b title="${expected}">${expected}</b>`);
  });

  it("nests markup, joins lists, and leaves nothing for absent parts", () => {
    const items = ["a<", "b"].map((item) => html`<li>${item}</li>`);
    expect(
      html`<ul>
        ${items}
      </ul>`.toString(),
    ).toContain("<li>a&#60;</li><li>b</li>");
    expect(html`(${undefined}${null}${false}${7})`.toString()).toBe("(7)");
  });

  it("does not take an object with toString for markup", () => {
    const forged = { toString: () => "<script>" } as unknown as string;
    expect(html`${forged}`.toString()).toBe("&#60;script&#62;");
  });

  it("passes markup only through the loudly named function", () => {
    expect(html`${dangerouslyTrustedHtml("<i>")}`.toString()).toBe("<i>");
  });
});

describe("page()", () => {
  it("has exactly the one stylesheet that the policy allows by hash, and no script", () => {
    const text = page({ title: "A", body: html`<p>b</p>` })();
    const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)];
    expect(styles).toHaveLength(1);
    const hash = createHash("sha256")
      .update(styles[0]?.[1] ?? "")
      .digest("base64");
    expect(contentSecurityPolicy(PLACE)).toContain(`style-src 'sha256-${hash}'`);
    expect(text).not.toMatch(/<script|style="|javascript:/);
  });

  it("has language, title and one first heading", () => {
    const text = page({ title: "Who <am> I", body: html`` })();
    expect(text).toContain('<html lang="en">');
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).toContain("<title>Who &#60;am&#62; I</title>");
  });
});

describe("contentSecurityPolicy()", () => {
  it("denies everything but the style and forms to the own host", () => {
    expect(contentSecurityPolicy(PLACE)).toMatch(
      /^default-src 'none'; style-src '\S+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
    );
  });

  it.each(["https://a.example.com", "http://127.0.0.1:8080", "http://[::1]:3", "cursor:"])(
    "allows forms to %s",
    (target) => {
      expect(contentSecurityPolicy(PLACE, [target])).toContain(`form-action 'self' ${target};`);
    },
  );

  it.each(["https://a; script-src *", "*", "'unsafe-inline'", "https://a b", "https://a/\r\nx: y", ""])(
    "drops %j, which is no origin",
    (target) => {
      expect(contentSecurityPolicy(PLACE, [target])).toBe(contentSecurityPolicy(PLACE));
    },
  );
});

describe("errorPage()", () => {
  it("shows status, code, request id and details, escaped", () => {
    const text = errorPage({
      status: 403,
      code: "access.denied",
      title: "Access denied",
      message: "No <rule> allows it",
      requestId: "req-1",
      details: [["Client ID", "https://evil.example/<x>"]],
      links: [{ href: "/.gateway/", text: "Your account" }],
    })();
    expect(text).toContain("<dd>403</dd>");
    expect(text).toContain("<code>access.denied</code>");
    expect(text).toContain("<code>req-1</code>");
    expect(text).toContain("https://evil.example/&#60;x&#62;");
    expect(text).toContain("No &#60;rule&#62; allows it");
    expect(text).toContain('href="/.gateway/"');
  });

  const parts = { status: 502, code: "upstream.reset", title: "A", message: "b", requestId: "req-1" };
  const links = [{ href: "/.gateway/", text: "Your account" }];
  const supportUrl = 'https://help.example.com/?a=1&b="';
  const actionsOf = (text: string) =>
    [...text.matchAll(/<a class="([^"]*)" href="([^"]*)">([^<]*)</g)].map((match) => match.slice(1));

  it.each([
    ["nothing to do", {}, []],
    [
      "the first link first",
      { links, supportUrl: "mailto:help@example.com" },
      [
        ["button primary", "/.gateway/", "Your account"],
        ["button", "mailto:help@example.com", "Get help"],
      ],
    ],
    [
      "trying again before all",
      { canRetry: true, links },
      [
        ["button primary", "", "Try again"],
        ["button", "/.gateway/", "Your account"],
      ],
    ],
    [
      "help alone, escaped",
      { supportUrl },
      [["button primary", "https://help.example.com/?a=1&#38;b=&#34;", "Get help"]],
    ],
  ])("has one primary action at most: %s", (_, more, actions) => {
    expect(actionsOf(errorPage({ ...parts, ...more })())).toEqual(actions);
  });
});

describe("pageHeaders()", () => {
  it("is a flat list with lower-case names", () => {
    const headers = pageHeaders(PLACE);
    expect(headers.length % 2).toBe(0);
    const names = headers.filter((_, index) => index % 2 === 0);
    expect(names).toEqual(names.map((name) => name.toLowerCase()));
    expect(names).toContain("content-security-policy");
    expect(headers[headers.indexOf("cache-control") + 1]).toBe("no-store");
  });
});

describe("errorTitle()", () => {
  it.each([
    [400, "bad-request", "Invalid request"],
    [401, "unauthorized", "Please sign in"],
    [401, "sign-in.required", "Please sign in"],
    [403, "access.denied", "Access denied"],
    [403, "sign-in.refused", "Sign-in failed"],
    [404, "route.not-found", "Page not found"],
    [404, "host.unknown", "Unknown host"],
    [500, "internal", "Something went wrong"],
    [503, "store.unavailable", "Not available right now"],
    [508, "upstream.loop", "This address is not set up correctly"],
    [450, "device.unauthenticated", "This page needs a registered device"],
    [450, "device.unauthorized", "This device is not accepted here"],
    [400, "device.ticket", "The device was not accepted"],
    [503, "device.unavailable", "Devices unavailable"],
  ])("%d %s reads %j", (status, code, title) => {
    expect(errorTitle(status, code)).toBe(title);
  });
});
