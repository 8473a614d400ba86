/**
 * Representatives of the users and workloads that two policies distinguish.
 *
 * Each has only what a rule requires of its user: a member of a group has this group and no known email. In addition:
 * an anonymous caller, a user with nothing that a rule names, and combinations of the rules' conditions.
 */
import { append } from "../../shared/linear/append.ts";
import { lowerAscii } from "../../shared/ascii.ts";
import {
  FIRST_PROVIDER,
  parseUserId,
  providerNameOf,
  providerUserId,
  serviceAccountUserId,
} from "../../shared/user-id.ts";
import type { UserFacts } from "../../policy/facts.ts";
import type { ListMatch, StringMatch } from "../../policy/match.ts";
import type { Leaf, PolicyTree } from "../../policy/tree.ts";
import { elementsOf, type Filling, freshText, quoted, samplesOf, unique } from "./samples.ts";

/** In display order, widest first. */
export const SUBJECT_KINDS = [
  "anybody",
  "signed-in",
  "provider",
  "domain",
  "group",
  "claim",
  "combined",
  "machines",
  "user",
  "person",
] as const;

export interface Subject {
  readonly kind: (typeof SUBJECT_KINDS)[number];
  /** "group staff": fills in "… gains". */
  readonly name: string;
  /** undefined: not signed in. */
  readonly user: UserFacts | undefined;
  /** Attributes; a subject with additional ones belongs to those that this one represents. */
  readonly parts: readonly string[];
}

/** One property of a user that a rule can require. */
interface Attribute {
  readonly kind: Subject["kind"];
  readonly name: string;
  /** Completes "whoever … and …". */
  readonly phrase: string;
  readonly part: string;
  readonly id?: string;
  readonly provider?: string;
  readonly email?: string;
  readonly domain?: string;
  readonly group?: string;
  readonly claim?: readonly [path: string, value: string];
}

/** Limits of combinations within one rule and across rules; subjects that a rule names are always compared. */
const MAX_OF_RULE = 32;
const MAX_COMBINED = 400;

export interface Subjects {
  readonly subjects: readonly Subject[];
  /** Number of omitted combinations. */
  readonly omitted: number;
}

export function subjectsOf(policies: readonly Pick<PolicyTree, "allow" | "deny" | "approve">[]): Subjects {
  const rules = policies.flatMap(({ allow, deny, approve }) => [
    ...allow.map((rule) => ({ ...rule, action: "allow" as const })),
    ...[...deny, ...approve].map((rule) => ({ ...rule, action: "deny" as const })),
  ]);
  const leaves = rules.flatMap((rule) => rule.leaves);
  const make = maker(leaves);
  const of = new Map(leaves.map((leaf) => [leaf, attributesOf(leaf)]));
  const single = unique([...of.values()].flat(), ({ part }) => part);
  const found = new Map<string, Subject>();
  let omitted = 0;
  let most = Infinity;
  const add = (attributes: readonly Attribute[]): void => {
    const subject = make(attributes);
    if (subject === undefined) return;
    const key = subject.parts.join("\n");
    if (found.has(key)) return;
    if (found.size < most) found.set(key, subject);
    else omitted += 1;
  };
  add([]);
  for (const attribute of single) add([attribute]);
  most = found.size + MAX_COMBINED;
  const whole = rules.map(({ operator, leaves: all, action }) => {
    const about = all.map((leaf) => of.get(leaf) ?? []).filter((attributes) => attributes.length > 0);
    const isJoined = operator === "and" || operator === "nor";
    const sets = isJoined ? combinations(about) : about.flat().map((attribute) => [attribute]);
    if (isJoined) omitted += Math.max(0, about.reduce((all, { length }) => all * length, 1) - sets.length);
    return { action, sets };
  });
  for (const { sets } of whole) for (const set of sets) add(set);
  const pick = (action: "allow" | "deny"): readonly (readonly Attribute[])[] =>
    whole.flatMap((rule) => (rule.action === action ? rule.sets : []));
  // Users allowed by one rule and denied by another, and users allowed by two rules, of which one may be removed.
  for (const denied of pick("deny")) for (const allowed of pick("allow")) add([...denied, ...allowed]);
  const wide = pick("allow").filter((set) => set.every(({ kind }) => kind !== "user"));
  for (const [at, one] of wide.entries()) for (const other of wide.slice(at + 1)) add([...one, ...other]);
  const anonymous: Subject = { kind: "anybody", name: "any caller, signed in or not,", user: undefined, parts: [] };
  return { subjects: [anonymous, ...found.values()], omitted };
}

/** A listed or recorded user. */
export function personOf(user: UserFacts): Subject {
  const name = user.email === "" ? user.id : user.email;
  return { kind: "person", name, user, parts: [`person ${user.id}`] };
}

/** @returns the wider subjects of each: those that represent it and others */
export function widerOf(subjects: readonly Subject[]): ReadonlyMap<Subject, readonly Subject[]> {
  const byParts = new Map(subjects.map((subject) => [keyOf(subject), subject]));
  return new Map(subjects.map((subject) => [subject, subsetsOf(subject).flatMap((key) => byParts.get(key) ?? [])]));
}

const ANONYMOUS = "anonymous";

function keyOf({ user, parts }: Subject): string {
  return user === undefined ? ANONYMOUS : parts.join("\n");
}

/** Keys of all subjects with fewer parts; beyond `MAX_PARTS` parts, only of the first ones. */
function subsetsOf({ user, parts }: Subject): readonly string[] {
  if (user === undefined) return [];
  const few = parts.slice(0, MAX_PARTS);
  const keys = [ANONYMOUS];
  for (let chosen = 0; chosen < 2 ** few.length; chosen += 1) {
    const subset = few.filter((_, at) => (chosen & (1 << at)) !== 0);
    if (subset.length < parts.length) keys.push(subset.join("\n"));
  }
  return keys;
}

const MAX_PARTS = 8;

function combinations(lists: readonly (readonly Attribute[])[]): readonly (readonly Attribute[])[] {
  let sets: (readonly Attribute[])[] = [[]];
  for (const list of lists) sets = sets.flatMap((set) => list.map((each) => [...set, each])).slice(0, MAX_OF_RULE);
  return sets;
}

function attributesOf({ criterion, subPath, data }: Leaf): readonly Attribute[] {
  switch (criterion.name) {
    case "user":
      return samplesOf(data as StringMatch).map(({ text, how }) => userAttribute(text, how));
    case "idp":
      return samplesOf(data as StringMatch).map(({ text }) => providerAttribute(text));
    case "email":
      return samplesOf(data as StringMatch, emailFilling).map(({ text, how }) => emailAttribute(lowerAscii(text), how));
    case "domain":
      return samplesOf(data as StringMatch).map(({ text, how }) => domainAttribute(lowerAscii(text), how));
    case "groups":
      return elementsOf(data as ListMatch).map((group) => ({
        kind: "group",
        name: `group ${quoted(group)}`,
        phrase: `is in group ${quoted(group)}`,
        part: `group ${group}`,
        group,
      }));
    case "claim":
      return elementsOf(data as ListMatch).map((value) => ({
        kind: "claim",
        name: `any user with the claim ${subPath} ${quoted(value)}`,
        phrase: `has the claim ${subPath} ${quoted(value)}`,
        part: `claim ${subPath} ${value}`,
        claim: [subPath, value],
      }));
    default:
      return [];
  }
}

function userAttribute(id: string, how: string | undefined): Attribute {
  const parts = parseUserId(id);
  const what = parts?.kind === "service-account" ? `service account ${quoted(parts.name)}` : `user ${quoted(id)}`;
  return {
    kind: how === undefined ? "user" : "claim",
    name: how === undefined ? what : `any user whose ID ${how}`,
    phrase: how === undefined ? `is ${what}` : `has a user ID that ${how}`,
    part: how === undefined ? `user ${id}` : `user that ${how}`,
    id,
  };
}

function providerAttribute(provider: string): Attribute {
  const isMachine = provider === "";
  return {
    kind: isMachine ? "machines" : "provider",
    name: isMachine ? "any service account or workload" : `any user of identity provider ${quoted(provider)}`,
    phrase: isMachine ? "is a service account or workload" : `is of identity provider ${quoted(provider)}`,
    part: `provider ${provider}`,
    provider,
  };
}

function emailAttribute(email: string, how: string | undefined): Attribute {
  const at = email.lastIndexOf("@");
  return {
    kind: how === undefined ? "user" : "domain",
    name: how === undefined ? email : `any user whose email address ${how}`,
    phrase: how === undefined ? `has the address ${email}` : `has an email address that ${how}`,
    part: how === undefined ? `email ${email}` : `email that ${how}`,
    email,
    ...(at !== -1 && { domain: email.slice(at + 1) }),
  };
}

function domainAttribute(domain: string, how: string | undefined): Attribute {
  return {
    kind: "domain",
    name: how === undefined ? `any user at ${domain}` : `any user at a domain that ${how}`,
    phrase: how === undefined ? `is at ${domain}` : `is at a domain that ${how}`,
    part: how === undefined ? `domain ${domain}` : `domain that ${how}`,
    domain,
  };
}

const emailFilling: Filling = ({ start, middle, end }) => {
  const text = `${start}${middle}${end}`;
  if (text.includes("@")) {
    const whole = text.startsWith("@") ? `someone${text}` : text;
    return whole.endsWith("@") ? `${whole}elsewhere.invalid` : whole;
  }
  if (end !== "")
    return `${start}${middle}${start + middle === "" ? "someone" : ""}@${end.startsWith(".") ? "x" : ""}${end}`;
  return `${start === "" ? "x" : ""}${text}@elsewhere.invalid`;
};

/** Builds a subject from combined attributes; undefined if they exclude each other. */
function maker(leaves: readonly Leaf[]): (attributes: readonly Attribute[]) => Subject | undefined {
  const matches = (name: string): readonly StringMatch[] =>
    leaves.flatMap(({ criterion, data }) => (criterion.name === name ? [data as StringMatch] : []));
  const id = freshText(matches("user"), ["someone", "q7kz", "0", "jv"]);
  // If rules name providers, an unspecified user comes from a different provider.
  const asksProvider = matches("idp").length > 0;
  const provider = freshText(matches("idp"), asksProvider ? ["another", "q7kz", "0", "jv"] : [FIRST_PROVIDER]);
  const domain = freshText([...matches("domain"), ...matches("email")], ["elsewhere.invalid", "q7kz.test", "jv"]);
  const email = freshText(matches("email"), [`${id}@${domain}`, `q7kz@${domain}`, `0@${domain}`, ""]);
  return (attributes) => {
    const distinct = unique(attributes, ({ part }) => part);
    const one = <T>(read: (attribute: Attribute) => T | undefined): readonly T[] => [
      ...new Set(distinct.map(read).filter((value) => value !== undefined)),
    ];
    const [ids, emails, domains, providers] = [
      one((each) => each.id),
      one((each) => each.email),
      one((each) => each.domain),
      one((each) => each.provider ?? (each.id === undefined ? undefined : providerNameOf(each.id))),
    ];
    if ([ids, emails, domains, providers].some(({ length }) => length > 1)) return undefined;
    const claims = new Map<string, string[]>();
    for (const { claim } of distinct) if (claim) append(claims, ...claim);
    const parts = [...distinct.map(({ part }) => part), ...domains.map((each) => `domain ${each}`)];
    const parents = ids.length > 0 ? providers.map((each) => `provider ${each}`) : [];
    const isMachine = providers[0] === "" && ids.length === 0;
    const [mail] = emails;
    return {
      ...kindAndName(distinct),
      user: {
        id: ids[0] ?? (isMachine ? serviceAccountUserId(id) : idAt(providers[0] ?? provider, id)),
        email: mail ?? (domains[0] === undefined ? (isMachine ? "" : email) : `someone@${domains[0]}`),
        name: "",
        groups: one((each) => each.group),
        claims: Object.fromEntries(claims),
      },
      parts: [...new Set([...parts, ...(asksProvider ? parents : [])])].toSorted(),
    };
  };
}

function idAt(provider: string, subject: string): string {
  try {
    const made = providerUserId(provider === FIRST_PROVIDER ? undefined : provider, subject);
    return made.ok ? made.id : subject;
  } catch {
    // No provider can have this name, so its rule never matches.
    return subject;
  }
}

function kindAndName(attributes: readonly Attribute[]): Pick<Subject, "kind" | "name"> {
  const [first, ...more] = attributes;
  if (first === undefined) return { kind: "signed-in", name: "any signed-in user" };
  if (more.length === 0) return { kind: first.kind, name: first.name };
  const phrases = attributes.map(({ phrase }, at) =>
    attributes[at - 1]?.phrase.startsWith("is ") === true ? phrase.replace(/^is /, "") : phrase,
  );
  return { kind: "combined", name: `any user who ${phrases.join(" and ")}` };
}
