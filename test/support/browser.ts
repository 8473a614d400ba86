/**
 * A browser as far as sign-in and consent need one: cookies by host name, redirects, links and forms, and the headers
 * that tell a navigation from a script. No JavaScript, as our pages promise to work without.
 */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  /** Lower-case names; repeated headers joined by ", ", except set-cookie. */
  readonly headers: Readonly<Record<string, string>>;
  readonly setCookies: readonly string[];
  readonly text: string;
  /** The body as JSON. */
  json(): Record<string, unknown>;
}

export type Send = (request: SentRequest) => Promise<Answer>;

/**
 * One request and its response, no redirects, no cookies.
 *
 * @param via port on 127.0.0.1 for every host: plain HTTP with the Host header of the URL, like a load balancer that
 * terminates TLS. Absent = the URL's own host
 */
export function createSend(options: { readonly via?: number } = {}): Send {
  return ({ method, url, headers = {}, body }) =>
    new Promise((resolve, reject) => {
      const target = new URL(url);
      const isSecure = options.via === undefined && target.protocol === "https:";
      const sent = (isSecure ? httpsRequest : httpRequest)(
        {
          host: options.via === undefined ? target.hostname.replace(/^\[|\]$/g, "") : "127.0.0.1",
          port: options.via ?? (target.port || (isSecure ? 443 : 80)),
          method,
          path: target.pathname + target.search,
          headers: {
            host: target.host,
            ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
            ...headers,
          },
          agent: false,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            const { "set-cookie": setCookies = [], ...rest } = response.headers;
            resolve({
              status: response.statusCode ?? 0,
              headers: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])),
              setCookies,
              text,
              json: () => JSON.parse(text) as Record<string, unknown>,
            });
          });
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The navigation stopped before this address was requested, because it is the application's own (see `stopAt`). */
  readonly left: boolean;
}

export interface Form {
  readonly action: string;
  readonly method: string;
  /** Hidden fields. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface Browser {
  /** Goes to an address and follows redirects until a page, or until an address that begins with `stopAt`. */
  open(url: string, stopAt?: string): Promise<Page>;
  /** Sends a form of a page like a user. */
  submit(page: Page, form: Form, values: Readonly<Record<string, string>>, stopAt?: string): Promise<Page>;
  /** Cookies stored for a host name, "name=value; …". */
  cookieHeader(hostname: string): string;
  setCookie(hostname: string, name: string, value: string): void;
  forget(): void;
}

const MAX_REDIRECTS = 20;

export function createBrowser(send: Send = createSend()): Browser {
  const jar = new Map<string, Map<string, string>>();

  const cookieHeader = (hostname: string): string =>
    [...(jar.get(hostname) ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");

  const store = (hostname: string, setCookies: readonly string[]): void => {
    const cookies = jar.get(hostname) ?? new Map<string, string>();
    jar.set(hostname, cookies);
    for (const line of setCookies) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const equals = pair.indexOf("=");
      const ended = attributes.some((attribute) => /^max-age=0$|^expires=thu, 01 jan 1970/i.test(attribute));
      if (ended) cookies.delete(pair.slice(0, equals));
      else cookies.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
  };

  const navigate = async (first: SentRequest, stopAt: string | undefined, site: string): Promise<Page> => {
    let next = first;
    for (let count = 0; count < MAX_REDIRECTS; count += 1) {
      if (stopAt !== undefined && next.url.startsWith(stopAt))
        return { url: next.url, status: 0, headers: {}, text: "", left: true };
      const { hostname } = new URL(next.url);
      const cookie = cookieHeader(hostname);
      const answer = await send({
        ...next,
        headers: {
          accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
          "sec-fetch-mode": "navigate",
          "sec-fetch-dest": "document",
          "sec-fetch-site": site,
          ...(cookie === "" ? {} : { cookie }),
          ...next.headers,
        },
      });
      store(hostname, answer.setCookies);
      // Pages that refresh automatically: `refresh: 0;url=…`.
      const location = answer.headers["location"] ?? /^0;\s*url=(.+)$/i.exec(answer.headers["refresh"] ?? "")?.[1];
      const isRedirect = answer.headers["refresh"] !== undefined || (answer.status >= 300 && answer.status <= 399);
      if (location === undefined || !isRedirect) {
        return { url: next.url, status: answer.status, headers: answer.headers, text: answer.text, left: false };
      }
      next = { method: "GET", url: new URL(location, next.url).href };
      // A redirect to the client keeps its spelling: URL would add a slash to a path-less address.
      if (stopAt !== undefined && location.startsWith(stopAt)) next = { method: "GET", url: location };
    }
    throw new Error(`Cannot open ${first.url}: more than ${MAX_REDIRECTS} redirects`);
  };

  return {
    open: (url, stopAt) => navigate({ method: "GET", url }, stopAt, "none"),
    submit: (page, form, values, stopAt) =>
      navigate(
        {
          method: form.method,
          url: new URL(form.action, page.url).href,
          headers: { "content-type": "application/x-www-form-urlencoded", origin: new URL(page.url).origin },
          body: new URLSearchParams({ ...form.fields, ...values }).toString(),
        },
        stopAt,
        "same-origin",
      ),
    cookieHeader,
    setCookie: (hostname, name, value) => {
      const cookies = jar.get(hostname) ?? new Map<string, string>();
      jar.set(hostname, cookies.set(name, value));
    },
    forget: () => jar.clear(),
  };
}

/** The first form of a page that is sent to an address with this ending. */
export function findForm(page: Page, actionEnding = ""): Form | undefined {
  for (const [, attributes = "", inside = ""] of page.text.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)) {
    const action = attribute(attributes, "action") ?? page.url;
    if (!action.endsWith(actionEnding)) continue;
    const fields: Record<string, string> = {};
    for (const [input] of inside.matchAll(/<input\b[^>]*>/gs)) {
      const name = attribute(input, "name");
      if (name !== undefined && attribute(input, "type") === "hidden") fields[name] = attribute(input, "value") ?? "";
    }
    return { action, method: (attribute(attributes, "method") ?? "get").toUpperCase(), fields };
  }
  return undefined;
}

/** Address of the link with exactly this text. */
export function findLink(page: Page, text: string): string | undefined {
  for (const [, attributes = "", inside = ""] of page.text.matchAll(/<a\b([^>]*)>(.*?)<\/a>/gs)) {
    const href = attribute(attributes, "href");
    if (href !== undefined && unescapeHtml(inside.replace(/<[^>]*>/g, "")).trim() === text)
      return new URL(href, page.url).href;
  }
  return undefined;
}

/** Value of an attribute in the text of a tag. */
export function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : unescapeHtml(value);
}

function unescapeHtml(text: string): string {
  return text
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}
