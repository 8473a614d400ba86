/**
 * The same request under all conditions that rules distinguish: arguments, address, certificate, device. Each is one
 * concrete request, so that a difference between two policies has an example.
 */
import ipaddr from "ipaddr.js";

import type { ActorFacts, CertificateFacts, DeviceFacts, Facts, UserFacts } from "../../policy/facts.ts";
import type { ArgumentMatch } from "../../policy/mcp/argument-match.ts";
import { readArguments, parsePointer } from "../../policy/mcp/argument-values.ts";
import type { CertificateMatch } from "../../policy/certificate-match.ts";
import type { DeviceMatch } from "../../policy/device-match.ts";
import { compileStringMatch, type StringMatch } from "../../policy/match.ts";
import { FALSE, outcomeOf, TRUE } from "../../policy/packed-outcome.ts";
import { findLeaf, type Leaf } from "../../policy/tree.ts";
import { ACTOR_NAMES, actorsIn } from "./actor-samples.ts";
import { argumentSamples, type ArgumentSample } from "./argument-samples.ts";
import type { Item } from "./items.ts";
import { samplesOf } from "./samples.ts";

/** A request without its user. */
export interface Case {
  readonly facts: Facts;
  /** Arguments of the tool call, as JSON. */
  readonly arguments?: string;
  /** Workload that acts for the user. */
  readonly actor?: ActorFacts | undefined;
  /** Special condition of the request, as shown: "from 10.0.0.1"; "" if none. */
  readonly description: string;
}

export interface Cases {
  readonly cases: readonly Case[];
  /** False if there are more conditions than cases. */
  readonly isComplete: boolean;
  /** Criteria on conditions that no case meets, or that every case meets. */
  readonly untried: readonly Leaf[];
}

interface Draft {
  readonly arguments: Map<string, ArgumentSample>;
  ip: string;
  certificate?: CertificateFacts;
  devices?: readonly DeviceFacts[];
  actor?: ActorFacts;
  descriptions: string[];
}

type Option = (draft: Draft) => void;

/** Documentation addresses, and others that rules are unlikely to name. */
const ADDRESSES = ["192.0.2.77", "198.51.100.77", "203.0.113.77", "8.8.4.4", "2001:db8::77", "2606:4700::77"];

/** Conditions in the rules of a place, computed once for all its items. */
export interface Conditions {
  readonly leaves: readonly Leaf[];
  readonly ofArguments: readonly {
    readonly leaf: Leaf;
    readonly match: ArgumentMatch;
    readonly matchesTool: (tool: string) => boolean;
  }[];
  readonly address: readonly Option[];
  readonly certificate: readonly Option[];
  readonly device: readonly Option[];
  readonly actor: readonly Option[];
}

const OF_ITEMS: ReadonlySet<string> = new Set(["http_method", "http_path", "cors_preflight"]);

export function conditionsOf(leaves: readonly Leaf[]): Conditions {
  const isGeneral = ({ criterion: { about, name } }: Leaf): boolean =>
    (about === "request" && !OF_ITEMS.has(name)) ||
    about === "certificate" ||
    about === "device" ||
    ACTOR_NAMES.has(name);
  return {
    leaves: leaves.filter(isGeneral),
    ofArguments: leaves.flatMap((leaf) => {
      if (leaf.criterion.name !== "mcp_tool_argument") return [];
      const match = leaf.data as ArgumentMatch;
      return [{ leaf, match, matchesTool: compileStringMatch(match.tool, (text) => text) }];
    }),
    address: addressOptions(leaves),
    certificate: certificateOptions(leaves),
    device: deviceOptions(leaves),
    actor: actorsIn(leaves).map(({ actor, description }): Option => (draft) => {
      if (actor) draft.actor = actor;
      draft.descriptions.push(description);
    }),
  };
}

/** @param most limit of cases */
export function casesOf(item: Item, conditions: Conditions, host: string, most: number): Cases {
  const { address, certificate, device, actor, ofArguments } = conditions;
  const tool = item.mcp?.tool;
  const applicable = tool === undefined ? [] : ofArguments.filter(({ matchesTool }) => matchesTool(tool));
  const dimensions = [
    ...argumentOptions(applicable.map(({ match }) => match)),
    address,
    certificate,
    // Only browsers verify devices, and workloads act only on MCP servers.
    item.mcp === undefined ? device : actor,
  ].filter((options) => options.length > 1);
  const size = dimensions.reduce((all, { length }) => all * length, 1);
  const chosen = size <= most ? product(dimensions) : oneByOne(dimensions, most);
  const cases = chosen.map((options) => makeCase(item, host, options));
  const isOf = ({ about, name }: Leaf["criterion"]): boolean =>
    item.mcp === undefined ? !ACTOR_NAMES.has(name) : about !== "device";
  const general = conditions.leaves.filter(({ criterion }) => isOf(criterion));
  const leaves = [...general, ...applicable.map(({ leaf }) => leaf)];
  return { cases, isComplete: size <= most, untried: leaves.filter((leaf) => isUntried(leaf, cases)) };
}

const SOME_USER: UserFacts = { id: "someone", email: "", name: "", groups: [], claims: {} };

/** Whether no request meets the criterion, or every request does. */
function isUntried(leaf: Leaf, cases: readonly Case[]): boolean {
  const found = new Set(
    cases.map(({ facts, actor }) =>
      outcomeOf(findLeaf(leaf, { ...facts, user: { ...SOME_USER, ...(actor && { actor }) } })),
    ),
  );
  return !found.has(TRUE) || !found.has(FALSE);
}

function makeCase(item: Item, host: string, options: readonly Option[]): Case {
  const draft: Draft = { arguments: new Map(), ip: ADDRESSES[0] ?? "", descriptions: [] };
  for (const option of options) option(draft);
  const hasArguments = item.mcp?.tool !== undefined;
  const json = hasArguments ? argumentsText(draft.arguments) : undefined;
  const { certificate, devices, actor } = draft;
  return {
    facts: {
      http: { ...item.http, host, ip: draft.ip, ...(certificate && { certificate }) },
      ...(devices && { devices }),
      ...(item.mcp && { mcp: { ...item.mcp, ...(json !== undefined && { arguments: readArguments(() => json) }) } }),
    },
    ...(json !== undefined && { arguments: json }),
    ...(actor && { actor }),
    description: [...(draft.arguments.size > 0 && json !== undefined ? [json] : []), ...draft.descriptions].join(", "),
  };
}

/** The first options of all dimensions, then each other option alone, then pairs up to the limit. */
function oneByOne(dimensions: readonly (readonly Option[])[], most: number): readonly (readonly Option[])[] {
  const base = dimensions.map(([first]) => first).filter((option) => option !== undefined);
  const found: (readonly Option[])[] = [base];
  for (const [at, options] of dimensions.entries())
    for (const option of options.slice(1)) found.push(base.with(at, option));
  for (const [at, options] of dimensions.entries())
    for (const [other, others] of dimensions.entries())
      for (const option of other > at ? options.slice(1) : [])
        for (const second of others.slice(1)) {
          if (found.length >= most) return found.slice(0, most);
          found.push(base.with(at, option).with(other, second));
        }
  return found.slice(0, most);
}

function product(dimensions: readonly (readonly Option[])[]): readonly (readonly Option[])[] {
  let all: (readonly Option[])[] = [[]];
  for (const options of dimensions) all = all.flatMap((chosen) => options.map((option) => [...chosen, option]));
  return all;
}

function argumentOptions(matches: readonly ArgumentMatch[]): readonly (readonly Option[])[] {
  const places = Map.groupBy(matches, ({ argument }) => argument);
  return [...places].map(([pointer, own]) =>
    argumentSamples(own).map(
      (sample): Option =>
        (draft) =>
          void draft.arguments.set(pointer, sample),
    ),
  );
}

/** Parents first, so that nested values are added to them. */
function argumentsText(samples: ReadonlyMap<string, ArgumentSample>): string {
  const root: Node = { members: new Map() };
  const places = [...samples].map(([pointer, json]) => ({ path: parsePointer(pointer) ?? [], json }));
  for (const { path, json } of places.toSorted((one, other) => one.path.length - other.path.length)) {
    if (json === undefined) continue;
    let node = root;
    for (const name of path) {
      let next = node.members.get(name);
      if (next === undefined) node.members.set(name, (next = { members: new Map() }));
      node = next;
    }
    if (path.length > 0) node.json = json;
    else if (json.startsWith("{")) Object.assign(root, { json });
  }
  return nodeText(root);
}

interface Node {
  readonly members: Map<string, Node>;
  /** Value at this position, as JSON. */
  json?: string;
}

function nodeText({ members, json }: Node): string {
  if (members.size === 0) return json ?? "{}";
  const own = json?.startsWith("{") === true ? Object.entries(JSON.parse(json) as object) : [];
  const rest = own.flatMap(([name, value]) =>
    members.has(name) ? [] : [`${JSON.stringify(name)}:${JSON.stringify(value)}`],
  );
  const given = [...members].map(([name, node]) => `${JSON.stringify(name)}:${nodeText(node)}`);
  return `{${[...given, ...rest].join(",")}}`;
}

function addressOptions(leaves: readonly Leaf[]): readonly Option[] {
  const ranges = leaves.flatMap(({ key, data }) => (key === "source_ip" ? (data as readonly string[]) : []));
  // Both ends of a range: a narrower range inside it does not contain both.
  const inside = ranges.flatMap((range) => {
    const family = ipaddr.parseCIDR(range)[0].kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
    return [family.networkAddressFromCIDR(range).toString(), family.broadcastAddressFromCIDR(range).toString()];
  });
  const isInside = (text: string): boolean => {
    const address = ipaddr.parse(text);
    return ranges.some((range) => {
      const [network, bits] = ipaddr.parseCIDR(range);
      return network.kind() === address.kind() && address.match([network, bits]);
    });
  };
  const outside = ADDRESSES.filter((text) => !isInside(text)).slice(0, 1);
  const texts = new Set([...outside, ...inside]);
  if (ranges.length === 0) return [];
  return [...texts].map((ip): Option => (draft) => {
    draft.ip = ip;
    draft.descriptions.push(`from ${ip}`);
  });
}

function certificateOptions(leaves: readonly Leaf[]): readonly Option[] {
  if (!leaves.some(({ criterion }) => criterion.about === "certificate")) return [];
  const blank: CertificateFacts = {
    isValid: true,
    fingerprint: "0".repeat(64),
    spkiHash: "",
    sanEmail: [],
    sanDns: [],
    sanUri: [],
  };
  const named = leaves.flatMap(({ key, data }) => (key === "client_certificate" ? [data as CertificateMatch] : []));
  const first = (match: StringMatch | undefined): readonly string[] =>
    match === undefined
      ? []
      : samplesOf(match)
          .slice(-1)
          .map(({ text }) => text);
  const certificates = named.flatMap((match) =>
    (match.fingerprint ?? [blank.fingerprint]).flatMap((fingerprint) =>
      (match.spki_hash ?? [blank.spkiHash]).map((spkiHash): CertificateFacts => ({
        isValid: true,
        fingerprint,
        spkiHash,
        sanEmail: first(match.san_email),
        sanDns: first(match.san_dns),
        sanUri: first(match.san_uri),
      })),
    ),
  );
  const show =
    (certificate: CertificateFacts, description: string): Option =>
    (draft) => {
      draft.certificate = certificate;
      draft.descriptions.push(description);
    };
  return [
    (draft) => void draft.descriptions.push("without a client certificate"),
    show({ ...blank, isValid: false }, "with an invalid client certificate"),
    show(blank, "with another client certificate"),
    ...certificates.map((certificate) => show(certificate, "with a client certificate that a rule names")),
  ];
}

function deviceOptions(leaves: readonly Leaf[]): readonly Option[] {
  const matches = leaves.flatMap(({ key, data }) => (key === "device" ? [data as DeviceMatch] : []));
  if (matches.length === 0) return [];
  const ids = [...new Set(matches.flatMap(({ is }) => (is === undefined ? [] : [is]))), "another-device"];
  const devices = ids.flatMap((id) =>
    [true, false].flatMap((isApproved) =>
      (["any", "enclave_only"] as const).map((type): DeviceFacts => ({ id, isApproved, type })),
    ),
  );
  return [
    (draft) => void draft.descriptions.push("without a registered device"),
    ...devices.map((device): Option => (draft) => {
      draft.devices = [device];
      draft.descriptions.push(
        `with ${device.isApproved ? "an approved" : "a"} device${device.type === "any" ? "" : " of type enclave_only"}`,
      );
    }),
  ];
}
