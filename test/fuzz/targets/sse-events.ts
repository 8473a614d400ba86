/** Event streams of upstreams: the same events however they are cut, and those that other readers see. */
import { EventBlocks } from "../../../runtime/mcp/lists/event-blocks.ts";
import { EndpointEvents } from "../../../runtime/mcp/endpoint-events.ts";
import { must, mustEqual } from "../oracle.ts";

const MAX_BYTES = 65_536;

export function fuzz(data: Uint8Array): void {
  const bytes = Buffer.from(data);
  const whole = readBlocks([bytes]);
  mustEqual(readBlocks([...bytes].map((byte) => Buffer.of(byte))), whole, "cut in bytes it has other events");
  mustEqual(whole, readPlainly(bytes), "another reader has other events");
  const passed = (pieces: readonly Buffer[]): string | undefined => {
    const events = new EndpointEvents((address) => (address.startsWith("/") ? "/ours" : undefined));
    const out: Buffer[] = [];
    for (const each of pieces) {
      const next = events.push(each);
      if (next === undefined) return undefined;
      out.push(Buffer.from(next));
    }
    return Buffer.concat(out).toString("latin1");
  };
  const once = passed([bytes]);
  if (once === undefined) return;
  const endpoints = readPlainly(Buffer.from(once, "latin1")).filter(({ type }) => type === "endpoint");
  must(
    endpoints.every((each) => each.data === "/ours"),
    "an address of the upstream's own passes",
    endpoints,
  );
}

interface Event {
  readonly type: string;
  readonly data: string;
}

function readBlocks(pieces: readonly Buffer[]): readonly Event[] {
  const blocks = new EventBlocks(MAX_BYTES);
  const found: Event[] = [];
  for (const piece of pieces) {
    for (const block of blocks.push(piece) ?? []) {
      if (block.kind === "event") found.push({ type: block.type, data: block.data.toString("latin1") });
    }
  }
  return found;
}

/** Readers by lines of text end one there, too: only data may have such characters, where they can be escaped. */
const isLoose = (line: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  /[\v\f\x1c-\x1e\x85\u2028\u2029]/.test(Buffer.from(line, "latin1").toString("utf8"));

/** WHATWG HTML, "Interpreting an event stream", as it stands there. */
function readPlainly(bytes: Buffer): readonly Event[] {
  const text = bytes.toString("latin1").replace(/^\u00ef\u00bb\u00bf/, "");
  const lines = text.split(/\r\n|\r|\n/).slice(0, -1);
  const found: Event[] = [];
  let [type, data, hasData] = ["", "", false];
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (line === "") {
      if (hasData) found.push({ type, data });
      [type, data, hasData] = ["", "", false];
    } else if (name === "event") type = isLoose(line) ? type : value;
    else if (name === "data") [data, hasData] = [hasData ? `${data}\n${value}` : value, true];
  }
  return found.map((each) => ({ ...each, type: Buffer.from(each.type, "latin1").toString("utf8") }));
}
