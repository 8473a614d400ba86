/**
 * Pomerium's settings of upstreams → ours. They are Envoy's; the gateway has the commonly used ones, and the rest are
 * reported.
 */
import { isRecord, type Members } from "../../shared/is-record.ts";
import { BALANCING_POLICIES, balancingShape } from "../../features/balancing/settings.ts";
import { limitsShape } from "../../features/connection/settings.ts";
import type { Field } from "../../settings/field.ts";
import { routeFields } from "../../config/route.ts";
import { choiceText, convertDuration } from "./values.ts";
import type { ImportReport } from "./note.ts";

const known = { ...balancingShape, ...limitsShape };
const fields = new Map(
  routeFields.filter(({ name }) => Object.hasOwn(known, name)).map((field) => [field.name, field]),
);

export function isBalancingSetting(key: string): boolean {
  return fields.has(key);
}

/** @returns undefined when nothing of it can be converted */
export function convertBalancing(key: string, value: unknown, place: string, report: ImportReport): unknown {
  const where = `${place}, ${key}`;
  if (key === "load_balancing_policy") return policyOf(value, where, report);
  if (key === "healthy_panic_threshold") return value;
  if (key === "health_checks" && Array.isArray(value)) {
    const checks = value.flatMap((each: unknown) => healthCheck(each, where, report));
    return checks.length > 0 ? checks : undefined;
  }
  const { fields: members = [] } = fields.get(key) as Field;
  return isRecord(value) ? knownMembers(value, members, where, report) : value;
}

function policyOf(value: unknown, where: string, report: ImportReport): unknown {
  // In the form of files, and that of Pomerium's API.
  const policy = String(choiceText(value)).replace(/^load_balancing_policy_/, "");
  if (!(BALANCING_POLICIES as readonly string[]).includes(policy)) {
    report("lost", where, `"${policy}" is not supported: upstreams are used in turn`);
    return undefined;
  }
  if (policy === "ring_hash" || policy === "maglev")
    report("differs", where, "a user gets another upstream than there, and keeps it");
  return policy;
}

function healthCheck(check: unknown, where: string, report: ImportReport): readonly unknown[] {
  const { fields: members = [] } = fields.get("health_checks") as Field;
  if (!isRecord(check)) return [check];
  if (!members.some(({ name, kind }) => kind === "block" && isRecord(check[name]))) {
    report("lost", where, "a check that is neither http_health_check, tcp_health_check nor grpc_health_check");
    return [];
  }
  const { tcp_health_check: tcp, ...rest } = check;
  const kept = knownMembers(rest, members, where, report);
  return [isRecord(tcp) ? { ...kept, tcp_health_check: tcpCheck(tcp, `${where}, tcp_health_check`, report) } : kept];
}

function tcpCheck(check: Members, where: string, report: ImportReport): Members {
  const { send, receive, ...rest } = check;
  for (const name of Object.keys(rest)) report("lost", `${where}, ${name}`, "no such setting");
  const expected = (Array.isArray(receive) ? receive : []).flatMap((each: unknown) =>
    payload(each, `${where}, receive`, report),
  );
  const [sent] = send === undefined || send === null ? [] : payload(send, `${where}, send`, report);
  if (expected.length === 0) {
    if (sent) report("lost", `${where}, send`, "no response is expected, so opening a connection is enough");
    return {};
  }
  return { ...(sent && { send: sent }), receive: expected };
}

/** In Pomerium "text" has hexadecimal digits, and "binary" Base64 as bytes in JSON. */
function payload(value: unknown, where: string, report: ImportReport): readonly Members[] {
  const { text, binary } = isRecord(value) ? value : {};
  if (typeof text === "string") return [{ hex: text }];
  if (typeof binary === "string" && binary !== "") return [{ hex: Buffer.from(binary, "base64").toString("hex") }];
  report("lost", where, 'bytes that are neither "text" nor "binary"');
  return [];
}

function knownMembers(block: Members, known: readonly Field[], where: string, report: ImportReport): Members {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(block)) {
    const field = known.find((each) => each.name === name);
    if (value === null || value === undefined) continue;
    if (!field) report("lost", `${where}, ${name}`, "no such setting");
    else if (field.kind === "duration") kept[name] = convertDuration(value, `${where}, ${name}`, report);
    else if (field.kind === "block" && isRecord(value))
      kept[name] = knownMembers(value, field.fields ?? [], `${where}, ${name}`, report);
    else kept[name] = value;
  }
  return kept;
}
