/** A user with a scripted browser and a software authenticator, in front of a gateway's device pages. */
import {
  attribute,
  createBrowser,
  createSend,
  findForm,
  findLink,
  type Browser,
  type Page,
  type Send,
} from "./browser.ts";
import { proveWith, registerWith, type Ceremony, type Deviations, type SoftKey } from "./soft-authenticator.ts";

/** A form of the page with the challenge it carries. */
export interface CeremonyForm {
  readonly page: Page;
  readonly kind: "create" | "get";
  readonly fields: Readonly<Record<string, string>>;
  readonly options: CeremonyOptions;
}

export interface CeremonyOptions {
  readonly challenge: string;
  readonly rpId?: string;
  readonly rp?: { readonly id: string };
  readonly userVerification?: string;
  readonly attestation?: string;
  readonly allowCredentials?: readonly { readonly id: string }[];
  readonly excludeCredentials?: readonly { readonly id: string }[];
  readonly authenticatorSelection?: Readonly<Record<string, unknown>>;
}

export interface DeviceVisitor {
  readonly browser: Browser;
  /** Opens an address on any host, and signs in if required. */
  open(url: string): Promise<Page>;
  /** The device page; `from` is an address that requires a device. */
  devicePage(from?: string): Promise<Page>;
  /** Registers a key with these options, and follows the gateway's redirects. */
  register(key: SoftKey, how?: RegisterOptions): Promise<Page>;
  prove(key: SoftKey, how?: ProveOptions): Promise<Page>;
  /** Removes all devices of this user on the user page; or the one of this name. */
  remove(name?: string): Promise<Page>;
  /** Sends a form of a page with this answer. */
  answer(form: CeremonyForm, answer: unknown, more?: Readonly<Record<string, string>>): Promise<Page>;
}

export interface ProveOptions extends Deviations {
  readonly ceremony?: Partial<Ceremony>;
  /** A page that is open already. */
  readonly page?: Page;
}

export interface RegisterOptions extends ProveOptions {
  readonly as?: "this" | "another";
  readonly name?: string;
}

/** @param pages origin of sign-in pages */
export function createDeviceVisitor(pages: string, user = "alice@example.com"): DeviceVisitor {
  const browser = createBrowser(sendVia(new URL(pages).port));
  const party = { origin: pages, rpId: new URL(pages).hostname };

  const open = async (url: string): Promise<Page> => {
    const page = await browser.open(url);
    const choice = findLink(page, user);
    return choice === undefined ? page : browser.open(choice);
  };
  const devicePage = (from = `${pages}/.gateway/webauthn`): Promise<Page> => open(from);
  const answer: DeviceVisitor["answer"] = (form, given, more = {}) => {
    const target = { action: "/.gateway/webauthn", method: "POST", fields: form.fields };
    return browser.submit(form.page, target, { answer: JSON.stringify(given), ...more });
  };

  return {
    browser,
    open,
    devicePage,
    answer,
    async register(key, { ceremony = {}, page, as = "this", name = "", ...how } = {}) {
      const form = ceremonyOf(page ?? (await devicePage()), as === "this" ? "Register this" : "Register another");
      const attachment = as === "this" ? "platform" : "cross-platform";
      const given = registerWith(
        key,
        { ...party, challenge: form.options.challenge, ...ceremony },
        { attachment, ...how },
      );
      return answer(form, given, { name });
    },
    async remove(name) {
      for (let page = await open(`${pages}/.gateway/`); ;) {
        const next = formTexts(page).find((text) =>
          name === undefined ? REMOVE.test(text) : text.includes(`Remove<span class="hidden"> ${name}<`),
        );
        const form = next === undefined ? undefined : findForm({ ...page, text: next });
        if (!form) return page;
        page = await browser.submit(page, form, {});
      }
    },
    async prove(key, { ceremony = {}, page, ...how } = {}) {
      const form = ceremonyOf(page ?? (await devicePage()), "Use a registered");
      return answer(form, proveWith(key, { ...party, challenge: form.options.challenge, ...ceremony }, how));
    },
  };
}

const REMOVE = /name="kind" value="device"/;

function formTexts(page: Page): readonly string[] {
  return [...page.text.matchAll(/<form\b.*?<\/form>/gs)].map(([text]) => text);
}

/** Names below localhost are loopback to browsers, and nothing to many machines' resolvers. */
export function sendVia(port: string): Send {
  const toGateway = createSend({ via: Number(port) });
  const direct = createSend();
  return (request) => (new URL(request.url).port === port ? toGateway(request) : direct(request));
}

/** @throws Error when the page has no form with this button */
export function ceremonyOf(page: Page, button: string): CeremonyForm {
  const found = formTexts(page).find((text) => text.includes(button));
  const form = found === undefined ? undefined : findForm({ ...page, text: found });
  if (found === undefined || !form)
    throw new Error(`Cannot find "${button}" on the page, ${page.status}:\n${page.text}`);
  return {
    page,
    kind: attribute(found, "data-ceremony") === "create" ? "create" : "get",
    fields: form.fields,
    options: JSON.parse(attribute(found, "data-options") ?? "") as CeremonyOptions,
  };
}
