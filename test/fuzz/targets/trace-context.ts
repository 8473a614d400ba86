/** traceparent and tracestate of strangers: what is believed can be sent on. */
import { parseTraceparent, parseTracestate } from "../../../runtime/tracing/trace-context.ts";
import { must, mustEqual, partsOf } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const [parent = "", ...states] = partsOf(data);
  const read = parseTraceparent([parent]);
  if (read)
    must(
      /^\s*[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}/.test(parent) && !/-0{32}-|-0{16}-/.test(parent),
      "no traceparent",
      parent,
    );
  mustEqual(parseTraceparent([parent, parent]) ?? null, null, "believed though it came twice");
  const state = parseTracestate(states);
  must(/^[\x20-\x7e\t]*$/.test(state) && state.length <= 8_192, "no header's value", state);
  mustEqual(parseTracestate(state === "" ? [] : [state]), state, "its form is not its own form");
}
