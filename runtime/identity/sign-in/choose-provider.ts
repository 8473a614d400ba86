/**
 * Chooses the identity provider of a sign-in: the only acceptable one, the last one of this browser, or the user's
 * choice by name or email address.
 *
 * Untrusted input: choice and email address in the query, and the cookie with the last choice. Promise: the result is
 * always a configured provider that the ticket allows. The user's identity never depends on this input.
 */
import type { LiveSettings } from "../../config/compiled.ts";
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { providerName } from "../../features/sign-in/providers.ts";
import type { Page } from "../../pages/layout.ts";
import { chooseProviderPage } from "../../pages/choose-provider.ts";
import type { CompiledPolicy } from "../../policy/evaluate.ts";
import { mayReachFrom } from "../../policy/reach.ts";
import { providerNameOf } from "../../shared/user-id.ts";
import { trustedEmail } from "../../issuers/trusted-email.ts";
import { nameOf, type Principal } from "../principal.ts";

type Providers = Pick<LiveSettings, "providers">;

/** Callback path of the providers. */
export const CALLBACK_PATH = "/.gateway/callback";

/**
 * Each provider has its own callback path, so that responses of one are never taken for another's (RFC 9700 §4.4.2).
 *
 * @param issuerName undefined: the first provider
 */
export function callbackPath(issuerName: string | undefined): string {
  return issuerName === undefined ? CALLBACK_PATH : `${CALLBACK_PATH}/${issuerName}`;
}

/**
 * Names of the providers whose users a policy may allow.
 *
 * @param policies policies of the requested routes
 * @returns undefined if all providers may help, or none does
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

/** Likewise for a signed-in user who was denied; undefined if no other provider would help. */
export function otherProviders(
  settings: Providers,
  policies: readonly CompiledPolicy[],
  { kind, user }: Principal,
): readonly string[] | undefined {
  // A token belongs to a program, which cannot sign in.
  if (kind !== "session") return undefined;
  const helpful = helpfulProviders(settings, policies);
  return helpful?.includes(providerNameOf(user.id)) === true ? undefined : helpful;
}

/** @param names names in a ticket; undefined: all */
export function findProviders({ providers }: Providers, names: readonly string[] | undefined): readonly IdpSettings[] {
  return names === undefined ? providers : providers.filter((each) => names.includes(providerName(each)));
}

/** Returns true if the user belongs to one of these providers. */
export function isOfOne(providers: readonly IdpSettings[], userId: string): boolean {
  const name = providerNameOf(userId);
  return providers.some((each) => providerName(each) === name);
}

export interface ProviderChoice {
  /** At least one. */
  readonly providers: readonly IdpSettings[];
  /** The user's choice on our page. */
  readonly chosen: string | undefined;
  /** Email address entered there; undefined: none. */
  readonly typed: string | undefined;
  /** The browser reports that the request comes from a page of ours. */
  readonly isOurLink: boolean;
  /** Provider of this browser's last sign-in; undefined if it must be ignored. */
  readonly remembered: string | undefined;
  /** A user signed in with none of these providers. */
  readonly user: Principal["user"] | undefined;
}

/** @returns undefined if the user has to choose */
export function chooseProvider({
  providers,
  chosen,
  typed,
  isOurLink,
  remembered,
  user,
}: ProviderChoice): IdpSettings | undefined {
  const find = (name: string): IdpSettings | undefined => providers.find((each) => providerName(each) === name);
  if (chosen !== undefined && (isOurLink || !user)) return find(chosen);
  if (typed !== undefined && (isOurLink || !user)) return findByEmail(providers, typed);
  // An external link must not switch the signed-in user without a confirmation.
  if (user) return undefined;
  return providers.length === 1 ? providers[0] : remembered === undefined ? undefined : find(remembered);
}

/** Finds the provider of an email domain. Only the provider determines who signs in there. */
function findByEmail(providers: readonly IdpSettings[], email: string): IdpSettings | undefined {
  return providers.find(({ emailDomains }) => emailDomains && trustedEmail(email, emailDomains) !== "");
}

/** @param form path of this page, and its ticket */
export function renderChoice(
  { providers, typed, user }: ProviderChoice,
  host: string,
  form: { readonly path: string; readonly ticket: string },
): Page {
  const hasDomains = providers.some(({ emailDomains }) => emailDomains !== undefined && emailDomains.size > 0);
  return chooseProviderPage({
    host,
    user: user && nameOf(user),
    choices: providers.map((each) => ({
      label: each.label,
      href: `${form.path}?ticket=${form.ticket}&idp=${providerName(each)}`,
    })),
    // With a single choice there is nothing to search.
    ...(hasDomains && providers.length > 1 && { byEmail: { ...form, typed: typed ?? "" } }),
  });
}
