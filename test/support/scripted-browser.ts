/**
 * A scripted browser for flow tests: cookies, redirects, links and forms, without a rendering engine.
 *
 * It is strict where browsers are: host-only and prefixed cookies, Secure, SameSite, `Sec-Fetch-*`, `Origin` on POST, and
 * a page's `form-action` for the form's whole redirect chain. Names are not looked up: everything goes to 127.0.0.1, so
 * any host name works; `listeners` maps origins that are https for the browser to a plain listener (as a load balancer
 * would).
 */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";

import { POLL_MS } from "./limits.ts";
import { createJar, type Jar } from "./cookie-jar.ts";
import { findForms, findLinks } from "./html-forms.ts";

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Every answer on the way, first to last, this one included. */
  readonly hops: readonly Hop[];
}

export interface Hop {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly location: string | undefined;
  readonly setCookies: readonly string[];
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Default true. A prefix stops before the first address that begins with it. */
  readonly follow?: boolean | string;
  /** Page that causes the request; absent = typed into the address bar. */
  readonly from?: string;
  /** navigate (default) or a script's fetch. */
  readonly mode?: "navigate" | "cors";
}

export interface FormChoice {
  /** Text of the button; default: the first form, its first button. */
  readonly button?: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly follow?: boolean | string;
}

export interface Browser {
  readonly jar: Jar;
  open(url: string, options?: RequestOptions): Promise<Page>;
  /** Follows the first link whose text or address contains `wanted`. */
  click(page: Page, wanted: string, options?: RequestOptions): Promise<Page>;
  submit(page: Page, choice?: FormChoice): Promise<Page>;
  /**
   * Opens an address and chooses the user wherever the development identity provider asks.
   *
   * @param user id or email
   */
  signIn(url: string, user: string): Promise<Page>;
}

export interface BrowserOptions {
  /** Origin ("https://app.example.com") → port on 127.0.0.1 that answers for it in plain http. */
  readonly listeners?: Readonly<Record<string, number>>;
}

const MAX_HOPS = 20;

export function createBrowser(options: BrowserOptions = {}): Browser {
  const jar = createJar();

  const open = async (url: string, request: RequestOptions = {}, formAction?: string): Promise<Page> => {
    const hops: Hop[] = [];
    let current = new URL(url);
    let method = request.method ?? "GET";
    let { body } = request;
    let policy = formAction;
    let chain = request.from === undefined ? [] : [request.from];
    for (;;) {
      if (policy !== undefined) checkFormAction(policy, current, request.from ?? current.href);
      const answer = await send(current, method, body, chain, request);
      const setCookies = answer.headers["set-cookie"] ?? [];
      for (const line of setCookies) jar.set(line, current);
      const refreshed = refreshTarget(answer.headers["refresh"]);
      const location = answer.status >= 300 && answer.status < 400 ? answer.headers.location : refreshed;
      hops.push({ method, url: current.href, status: answer.status, location, setCookies });
      const stops = typeof request.follow === "string" && location?.startsWith(request.follow) === true;
      if (location === undefined || request.follow === false || stops) return { url: current.href, ...answer, hops };
      if (hops.length >= MAX_HOPS) throw new Error(`too many redirects:\n${hops.map((hop) => hop.url).join("\n")}`);
      // A redirect keeps the request's initiator; a page refresh starts a new request.
      if (refreshed !== undefined) {
        chain = [];
        policy = undefined;
      }
      chain.push(current.href);
      current = new URL(location, current);
      if (answer.status !== 307 && answer.status !== 308) [method, body] = ["GET", undefined];
    }
  };

  const send = (
    url: URL,
    method: string,
    body: string | undefined,
    chain: readonly string[],
    request: RequestOptions,
  ) => {
    const mapped = options.listeners?.[url.origin];
    if (mapped === undefined && url.protocol !== "http:") throw new Error(`no listener for ${url.origin}`);
    const mode = request.mode ?? "navigate";
    const crossSite = chain.some((from) => siteOf(new URL(from)) !== siteOf(url));
    const cookie = jar.header(url, { crossSite, topLevelGet: mode === "navigate" && method === "GET" });
    const headers: Record<string, string> = {
      host: url.host,
      accept: mode === "navigate" ? "text/html,application/xhtml+xml,*/*;q=0.8" : "*/*",
      "sec-fetch-mode": mode,
      "sec-fetch-dest": mode === "navigate" ? "document" : "empty",
      "sec-fetch-site": fetchSite(url, chain),
      ...(cookie === undefined ? {} : { cookie }),
      ...(method === "GET" || method === "HEAD" ? {} : { origin: originSent(chain) ?? url.origin }),
      ...(body === undefined
        ? {}
        : {
            "content-type": "application/x-www-form-urlencoded",
            "content-length": String(Buffer.byteLength(body)),
          }),
      ...request.headers,
    };
    return exchange(mapped ?? Number(url.port || 80), method, url.pathname + url.search, headers, body);
  };

  const click = (page: Page, wanted: string, request: RequestOptions = {}): Promise<Page> => {
    const link = findLinks(page.text).find(({ text, href }) => text.includes(wanted) || href.includes(wanted));
    if (!link) throw new Error(`no link "${wanted}" on ${page.url} (${page.status}):\n${page.text}`);
    return open(new URL(link.href, page.url).href, { ...request, from: page.url });
  };

  return {
    jar,
    open: (url, request) => open(url, request),
    click,
    async submit(page, choice = {}) {
      const isWanted = ({ text }: { readonly text: string }): boolean =>
        choice.button === undefined || text.includes(choice.button);
      const forms = findForms(page.text);
      const form = forms.find(({ buttons }) => buttons.some(isWanted));
      if (!form) throw new Error(`no such form on ${page.url} (${page.status}):\n${page.text}`);
      const button = form.buttons.find(isWanted);
      const values = new URLSearchParams(form.values);
      if (button?.name !== undefined) values.set(button.name, button.value);
      for (const [name, value] of Object.entries(choice.values ?? {})) values.set(name, value);
      const target = new URL(form.action || page.url, page.url);
      const policy = String(page.headers["content-security-policy"] ?? "");
      const how = { from: page.url, ...(choice.follow === undefined ? {} : { follow: choice.follow }) };
      if (form.method === "post") {
        return open(target.href, { ...how, method: "POST", body: values.toString() }, policy);
      }
      target.search = values.toString();
      return open(target.href, how, policy);
    },
    async signIn(url, user) {
      let page = await open(url);
      // The links of the development identity provider: text is the email, the address ends with the id.
      for (let step = 0; step < 5 && page.text.includes("Who are you?"); step += 1) page = await click(page, user);
      return page;
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function exchange(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
      });
    });
    const giveUp = (): void => void outgoing.destroy(new Error(`no answer to ${method} ${headers["host"]}${path}`));
    outgoing.setTimeout(POLL_MS, giveUp);
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Registrable domain by its usual shape: enough for test names. Scheme counts, as in "schemeful same-site". */
function siteOf(url: URL): string {
  const isAddress = /^[\d.]+$|^\[/.test(url.hostname);
  return `${url.protocol}//${isAddress ? url.hostname : url.hostname.split(".").slice(-2).join(".")}`;
}

function fetchSite(url: URL, chain: readonly string[]): string {
  if (chain.length === 0) return "none";
  const from = chain.map((each) => new URL(each));
  if (from.every((each) => each.origin === url.origin)) return "same-origin";
  return from.every((each) => siteOf(each) === siteOf(url)) ? "same-site" : "cross-site";
}

/** After a cross-origin redirect of a POST the browser no longer sends its origin. */
function originSent(chain: readonly string[]): string | undefined {
  const origins = new Set(chain.map((each) => new URL(each).origin));
  return origins.size > 1 ? "null" : [...origins][0];
}

function refreshTarget(header: string | string[] | undefined): string | undefined {
  return /^\s*0\s*;\s*url=(.+)$/i.exec(String(header ?? ""))?.[1];
}

/** Chromium also applies the page's form-action to a form's redirects. */
function checkFormAction(policy: string, target: URL, pageUrl: string): void {
  const directives = policy.split(";").map((part) => part.trim());
  const directive = directives.find((part) => part.startsWith("form-action"));
  if (directive === undefined) return;
  const isAllowed = directive
    .split(/\s+/)
    .slice(1)
    .some((source) =>
      source === "'self'"
        ? target.origin === new URL(pageUrl).origin
        : source === target.origin || source === target.protocol,
    );
  if (!isAllowed) throw new Error(`the page's policy "${directive}" forbids a form to reach ${target.origin}`);
}
