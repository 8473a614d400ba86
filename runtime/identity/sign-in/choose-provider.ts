/**
 * Which identity provider a sign-in goes to: the one that may help, the one that this browser used last, or the person's
 * choice, by its name or by their own e-mail address.
 *
 * Untrusted input: the choice and the e-mail address in the query, the cookie that remembers a choice. Promise: neither leads anywhere but to a
 * provider of the configuration that the ticket allows; who signed in is never told by them.
 */
import type { LiveSettings } from "../../config/compiled.ts";
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { providerName } from "../../features/sign-in/providers.ts";
import { chooseProviderPage } from "../../pages/choose-provider.ts";
import type { CompiledPolicy } from "../../policy/evaluate.ts";
import { mayReachFrom } from "../../policy/reach.ts";
import { providerNameOf } from "../../shared/user-id.ts";
import { vouchedEmail } from "../../issuers/vouched-email.ts";
import type { Principal } from "../principal.ts";

type Providers = Pick<LiveSettings, "providers">;

/** Where the providers send browsers back to. */
export const CALLBACK_PATH = "/.gateway/callback";

/**
 * Each provider has an address of its own, so that what one of them sends is never taken for another's (RFC 9700 §4.4.2).
 *
 * @param issuerName undefined: the first provider
 */
export function callbackPath(issuerName: string | undefined): string {
  return issuerName === undefined ? CALLBACK_PATH : `${CALLBACK_PATH}/${issuerName}`;
}

/**
 * The providers whose people a policy may let in, by their names.
 *
 * @param policies of the routes that somebody wants to reach
 * @returns undefined where the choice is free: all of them may help, or none does
 */
export function helpfulProviders(
  { providers }: Providers,
  policies: readonly CompiledPolicy[],
): readonly string[] | undefined {
  if (providers.length < 2 || !policies.some(({ needsProvider }) => needsProvider)) return undefined;
  const names = providers.map(providerName);
  const helpful = names.filter((name) => policies.some((policy) => mayReachFrom(policy, name)));
  return helpful.length === 0 || helpful.length === names.length ? undefined : helpful;
}

/** The same for somebody who is signed in and was refused; undefined where no other provider would help either. */
export function otherProviders(
  settings: Providers,
  policies: readonly CompiledPolicy[],
  { kind, user }: Principal,
): readonly string[] | undefined {
  // Whoever shows a token is a program, and goes nowhere.
  if (kind !== "session") return undefined;
  const helpful = helpfulProviders(settings, policies);
  return helpful?.includes(providerNameOf(user.id)) === true ? undefined : helpful;
}

/** @param names as a ticket has them; undefined: all */
export function findProviders({ providers }: Providers, names: readonly string[] | undefined): readonly IdpSettings[] {
  return names === undefined ? providers : providers.filter((each) => names.includes(providerName(each)));
}

/** Whether a user comes from one of these. */
export function isOfOne(providers: readonly IdpSettings[], userId: string): boolean {
  const name = providerNameOf(userId);
  return providers.some((each) => providerName(each) === name);
}

export interface ProviderChoice {
  /** At least one. */
  readonly providers: readonly IdpSettings[];
  /** What the person chose on our page. */
  readonly wanted: string | undefined;
  /** The e-mail address that they typed there; undefined: none. */
  readonly typed: string | undefined;
  /** The browser says that a page of ours led here. */
  readonly isOurLink: boolean;
  /** What this browser used last; undefined when it is not to count. */
  readonly remembered: string | undefined;
  /** Who is signed in, by none of these providers. */
  readonly user: Principal["user"] | undefined;
}

/** @returns undefined: the person has to choose */
export function chooseProvider({
  providers,
  wanted,
  typed,
  isOurLink,
  remembered,
  user,
}: ProviderChoice): IdpSettings | undefined {
  const find = (name: string): IdpSettings | undefined => providers.find((each) => providerName(each) === name);
  if (wanted !== undefined && (isOurLink || !user)) return find(wanted);
  if (typed !== undefined && (isOurLink || !user)) return findByEmail(providers, typed);
  // A link from elsewhere must not change who somebody is here: they say so first.
  if (user) return undefined;
  return providers.length === 1 ? providers[0] : remembered === undefined ? undefined : find(remembered);
}

/** The provider of an address's domain; who signs in there is told by the provider alone. */
function findByEmail(providers: readonly IdpSettings[], email: string): IdpSettings | undefined {
  return providers.find(({ emailDomains }) => emailDomains && vouchedEmail(email, emailDomains) !== "");
}

/** @param form address of this page, and its ticket */
export function renderChoice(
  { providers, typed, user }: ProviderChoice,
  host: string,
  form: { readonly path: string; readonly ticket: string },
): string {
  const hasDomains = providers.some(({ emailDomains }) => emailDomains !== undefined && emailDomains.size > 0);
  return chooseProviderPage({
    host,
    user: user && (user.email || user.name || user.id),
    choices: providers.map((each) => ({
      label: each.label,
      href: `${form.path}?ticket=${form.ticket}&idp=${providerName(each)}`,
    })),
    // Of one choice there is nothing to find.
    ...(hasDomains && providers.length > 1 && { byEmail: { ...form, typed: typed ?? "" } }),
  });
}
