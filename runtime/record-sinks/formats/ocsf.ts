/**
 * Records as events of the Open Cybersecurity Schema Framework: checks of requests as API Activity (6003) with the
 * profile security_control, administrative actions as Entity Management (3004), all others as Base Event (0). Values
 * without a field of their own are in `unmapped`.
 *
 * @see OCSF 1.5, events/application/api_activity, events/iam/entity_management, profiles/security_control
 */
import { CHECK_MESSAGE } from "../../audit/log-line.ts";
import { numberOf, type RecordValue, textOf, type Verdict, verdictOf } from "./fields.ts";

export const OCSF_VERSION = "1.5.0";

const CREATE = 1;
const READ = 2;
const UPDATE = 3;
const DELETE = 4;
const OTHER = 99;

const ALLOWED = 1;
const DENIED = 2;
/** Values of `disposition_id`. */
const DISPOSITION = { allowed: 1, blocked: 2, approved: 8, delayed: 14, rejected: 25 } as const;
/** Values of `severity_id`. */
const SEVERITY = { informational: 1, low: 2, medium: 3, high: 4 } as const;

type Event = Readonly<Record<string, unknown>>;

/** @param version of the gateway */
export function formatOcsf(record: RecordValue, version: string): Event {
  const message = textOf(record, "message");
  if (message === CHECK_MESSAGE) return apiActivity(record, version);
  return message === "administrative action" ? entityManagement(record, version) : baseEvent(record, version);
}

function apiActivity(record: RecordValue, version: string): Event {
  const verdict = verdictOf(record);
  const { passes, reasons } = verdict;
  const user = userOf(record);
  const session = textOf(record, "session-id") ?? textOf(record, "grant-id");
  const client = textOf(record, "client-id");
  const route = textOf(record, "route");
  const tool = textOf(record, "mcp-tool");
  const host = textOf(record, "host");
  const path = textOf(record, "path");
  const method = textOf(record, "method");
  const mcpMethod = textOf(record, "mcp-method");
  return {
    ...classOf(6, 6003, activityOf(method, mcpMethod)),
    ...common(record, version, passes ? SEVERITY.informational : SEVERITY.low, ["security_control"]),
    status_id: passes ? 1 : 2,
    ...(reasons.length > 0 && { status_detail: reasons.join(" ") }),
    actor: {
      // A required member, also for anonymous callers.
      ...(user ? { user } : { app_name: client ?? "anonymous" }),
      ...(user && client !== undefined && { app_uid: client }),
      ...(session !== undefined && { session: { uid: session } }),
    },
    api: {
      operation: mcpMethod || method || "authorize",
      ...(route !== undefined && { service: { name: route } }),
      ...(textOf(record, "request-id") !== undefined && { request: { uid: textOf(record, "request-id") } }),
    },
    src_endpoint: textOf(record, "ip") === undefined ? { name: "unknown" } : { ip: textOf(record, "ip") },
    ...(host !== undefined && { dst_endpoint: { hostname: host } }),
    ...(path !== undefined && {
      http_request: {
        ...(method !== undefined && { http_method: method }),
        url: { path, ...(host !== undefined && { hostname: host }) },
      },
    }),
    ...(tool !== undefined && { resources: [{ type: "mcp tool", name: tool }] }),
    ...control(record, verdict),
  };
}

/** The profile security_control. */
function control(record: RecordValue, { passes, isLimited, waits, isApproved }: Verdict): Event {
  const rule = textOf(record, "rule");
  const digest = textOf(record, "bundle-digest");
  const disposition = waits
    ? "delayed"
    : isLimited
      ? "rejected"
      : isApproved
        ? "approved"
        : passes
          ? "allowed"
          : "blocked";
  return {
    action_id: waits ? OTHER : passes ? ALLOWED : DENIED,
    action: waits ? "Waiting for approval" : passes ? "Allowed" : "Denied",
    disposition_id: DISPOSITION[disposition],
    authorizations: [
      {
        decision: passes ? "allowed" : "denied",
        policy: {
          name: textOf(record, "route") ?? "policy",
          ...(rule !== undefined && { uid: rule }),
          ...(digest !== undefined && { version: digest }),
          is_applied: true,
        },
      },
    ],
  };
}

function entityManagement(record: RecordValue, version: string): Event {
  const action = textOf(record, "action") ?? "";
  const [type = "entity", ...rest] = (textOf(record, "target") ?? "").split(" ");
  const before = textOf(record, "before");
  const after = textOf(record, "after");
  const by = textOf(record, "by") ?? "unknown";
  const reason = textOf(record, "reason");
  const name = rest.join(" ") || type;
  return {
    ...classOf(3, 3004, ACTIONS[action] ?? OTHER),
    activity_name: action,
    ...common(record, version, SEVERITY.informational, []),
    status_id: 1,
    actor: { user: { name: by, uid: by } },
    entity: { type, name, ...(before !== undefined && { version: before }) },
    ...(after !== undefined && { entity_result: { type, name, version: after } }),
    ...(reason !== undefined && { comment: reason }),
  };
}

const ACTIONS: Readonly<Record<string, number>> = {
  create: CREATE,
  block: CREATE,
  publish: UPDATE,
  rollback: UPDATE,
  approve: UPDATE,
  refuse: UPDATE,
  "approve-device": UPDATE,
  unblock: DELETE,
  revoke: DELETE,
  "withdraw-device-approval": DELETE,
};

function baseEvent(record: RecordValue, version: string): Event {
  const status = numberOf(record, "status");
  const duration = numberOf(record, "duration-ms");
  const isFailure = record["failed-by"] !== undefined || (status ?? 0) >= 500;
  return {
    ...classOf(0, 0, OTHER),
    activity_name: textOf(record, "message") ?? "record",
    ...common(record, version, severityOf(record), []),
    ...(status !== undefined && { status_id: isFailure ? 2 : 1, status_code: String(status) }),
    ...(duration !== undefined && { duration: Math.round(duration) }),
  };
}

function severityOf(record: RecordValue): number {
  const level = textOf(record, "level");
  return level === "error" ? SEVERITY.high : level === "warn" ? SEVERITY.medium : SEVERITY.informational;
}

function classOf(category: number, uid: number, activity: number): Event {
  return { category_uid: category, class_uid: uid, activity_id: activity, type_uid: uid * 100 + activity };
}

function common(record: RecordValue, version: string, severity: number, profiles: readonly string[]): Event {
  return {
    time: timeOf(record),
    severity_id: severity,
    message: textOf(record, "message") ?? "",
    metadata: metadata(record, version, profiles),
    unmapped: record,
  };
}

function metadata(record: RecordValue, version: string, profiles: readonly string[]): Event {
  const request = textOf(record, "request-id");
  const instance = textOf(record, "instance");
  const seq = numberOf(record, "seq");
  return {
    version: OCSF_VERSION,
    product: { name: "Gateform", vendor_name: "Gateform", version },
    ...(profiles.length > 0 && { profiles }),
    ...(request !== undefined && { correlation_uid: request }),
    // With `audit` the position of a record is unique: destinations use it to drop duplicates.
    ...(seq !== undefined && { uid: `${instance ?? ""}/${seq}`, sequence: seq }),
  };
}

/** Milliseconds since the epoch; 0 for a record without a time. */
function timeOf(record: RecordValue): number {
  const time = Date.parse(textOf(record, "time") ?? "");
  return Number.isNaN(time) ? 0 : time;
}

function userOf(record: RecordValue): Event | undefined {
  const uid = textOf(record, "user");
  if (uid === undefined) return undefined;
  const email = textOf(record, "email") || undefined;
  return { uid, name: email ?? uid, ...(email !== undefined && { email_addr: email }) };
}

/** Activity by method; the effect of tools is unknown. */
function activityOf(method: string | undefined, mcpMethod: string | undefined): number {
  if (mcpMethod === "tools/call") return OTHER;
  if (mcpMethod !== undefined && mcpMethod !== "") return /\/(?:list|read|get)$/.test(mcpMethod) ? READ : OTHER;
  return METHODS[method ?? ""] ?? OTHER;
}

const METHODS: Readonly<Record<string, number>> = {
  GET: READ,
  HEAD: READ,
  OPTIONS: READ,
  POST: CREATE,
  PUT: UPDATE,
  PATCH: UPDATE,
  DELETE,
};
