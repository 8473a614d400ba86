/**
 * Positions of the meaningful members of a message in its bytes. Checks only the JSON itself, and keys that resemble
 * known ones. Pure.
 */
import { CLIENT_CAPABILITIES, META_CLIENT, PROTOCOL_VERSION, knownMember, knownMetaMember } from "./members.ts";
import type { RefusalReason } from "./refusals.ts";
import type { ScanReason } from "./scan-error.ts";
import { JsonScanner } from "./scan.ts";
import type { TextSpan } from "./scan.ts";

/** Members of the envelope and of `params`, before they are checked. */
export interface Envelope {
  jsonrpc: TextSpan | undefined;
  id: TextSpan | undefined;
  method: TextSpan | undefined;
  params: TextSpan | undefined;
  result: TextSpan | undefined;
  error: TextSpan | undefined;
  name: TextSpan | undefined;
  uri: TextSpan | undefined;
  taskId: TextSpan | undefined;
  arguments: TextSpan | undefined;
  ref: TextSpan | undefined;
  /** `params._meta["io.modelcontextprotocol/protocolVersion"]`. */
  version: TextSpan | undefined;
  /** `params._meta["io.modelcontextprotocol/clientCapabilities"]`. */
  capabilities: TextSpan | undefined;
  /** `params._meta.progressToken`. */
  progressToken: TextSpan | undefined;
  /** Envelope, `params` or `_meta` have a member with another name; `_meta` also apart from the name of the client. */
  hasOthers: boolean;
}

// Reused between messages for its arrays; it retains nothing of a message, and no two calls interleave.
const scanner = new JsonScanner();

/**
 * @param bytes valid UTF-8
 * @returns the members, or the reason why this is not a message
 */
export function readEnvelope(bytes: Buffer): Envelope | RefusalReason {
  return scanner.read(bytes, readMessage, (reason) => SCAN_REFUSALS[reason]);
}

function readMessage(): Envelope | RefusalReason {
  const kind = scanner.peek();
  if (kind === "array") return "mcp-batch";
  if (kind !== "object") {
    scanner.skipValue();
    scanner.finish();
    return "mcp-invalid-message";
  }
  const envelope = emptyEnvelope();
  const hasLookAlike = readMembers(envelope);
  scanner.finish();
  return hasLookAlike ? "mcp-look-alike-key" : envelope;
}

const SCAN_REFUSALS: Readonly<Record<ScanReason, RefusalReason>> = {
  "malformed-json": "mcp-malformed-json",
  "duplicate-key": "mcp-duplicate-key",
  "too-deep": "mcp-too-deep",
  "too-many-members": "mcp-too-many-members",
};

/** @returns true when a key of the envelope, of `params` or of `_meta` looks like a known one */
function readMembers(envelope: Envelope): boolean {
  let hasLookAlike = false;
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    const member = knownMember(scanner);
    switch (member) {
      case "params":
        if (scanner.peek() === "object") {
          envelope.params = OBJECT;
          if (readParams(envelope)) hasLookAlike = true;
        } else {
          envelope.params = scanner.take();
        }
        break;
      case "jsonrpc":
      case "id":
      case "method":
      case "result":
      case "error":
        envelope[member] = scanner.take();
        break;
      default:
        if (member === "look-alike") hasLookAlike = true;
        envelope.hasOthers = true;
        scanner.skipValue();
    }
  }
  return hasLookAlike;
}

function readParams(envelope: Envelope): boolean {
  let hasLookAlike = false;
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    const member = knownMember(scanner);
    if (member === "name" || member === "uri" || member === "taskId" || member === "arguments" || member === "ref") {
      envelope[member] = scanner.take();
    } else if (member === "_meta" && scanner.peek() === "object") {
      if (readMeta(envelope)) hasLookAlike = true;
    } else {
      if (member === "look-alike") hasLookAlike = true;
      envelope.hasOthers = true;
      scanner.skipValue();
    }
  }
  return hasLookAlike;
}

function readMeta(envelope: Envelope): boolean {
  let hasLookAlike = false;
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    const member = knownMetaMember(scanner);
    switch (member) {
      case PROTOCOL_VERSION:
        envelope.version = scanner.take();
        break;
      case CLIENT_CAPABILITIES:
        envelope.capabilities = scanner.take();
        break;
      case "progressToken":
        envelope.progressToken = scanner.take();
        break;
      default:
        if (member === "look-alike") hasLookAlike = true;
        if (member !== META_CLIENT) envelope.hasOthers = true;
        scanner.skipValue();
    }
  }
  return hasLookAlike;
}

/** Marks that `params` is an object; its position is not needed. */
const OBJECT: TextSpan = { kind: "object", start: 0, end: 0, isEscaped: false };

function emptyEnvelope(): Envelope {
  return {
    jsonrpc: undefined,
    id: undefined,
    method: undefined,
    params: undefined,
    result: undefined,
    error: undefined,
    name: undefined,
    uri: undefined,
    taskId: undefined,
    arguments: undefined,
    ref: undefined,
    version: undefined,
    capabilities: undefined,
    progressToken: undefined,
    hasOthers: false,
  };
}
