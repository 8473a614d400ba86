/** HTTP/1.1 answers of upstreams: one end or none, the same however the bytes are cut. */
import { AnswerReader } from "../../../runtime/upstreams/http1/reader.ts";
import { must, mustEqual } from "../oracle.ts";

interface Heard {
  readonly problem: boolean;
  readonly heads: readonly (readonly [number, readonly string[]])[];
  readonly body: string;
  readonly ends: number;
  readonly isWhole: boolean;
}

export function fuzz(data: Uint8Array): void {
  const bytes = Buffer.from(data);
  for (const method of ["GET", "HEAD"]) {
    const whole = hear(method, [bytes]);
    const cut = hear(
      method,
      [...bytes].map((byte) => Buffer.of(byte)),
    );
    mustEqual(cut.problem, whole.problem, "cut in bytes it is refused, or only whole");
    must(whole.ends <= 1, "more than one end", whole);
    if (whole.problem) return;
    mustEqual(cut, whole, "cut in bytes it is another answer");
    must(whole.heads.filter(([status]) => status >= 200).length <= 1, "more than one answer", whole.heads);
    const [, fields = []] = whole.heads.find(([status]) => status >= 200) ?? [];
    for (let at = 0; at < fields.length; at += 2) {
      must(/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(fields[at] ?? ""), "no name of a field", fields[at]);
      // oxlint-disable-next-line no-control-regex -- exactly these are meant
      must(!/[\0-\x08\x0a-\x1f\x7f]/.test(fields[at + 1] ?? ""), "no value of a field", fields[at + 1]);
    }
    const names = fields.filter((_, at) => at % 2 === 0);
    must(!(names.includes("content-length") && names.includes("transfer-encoding")), "two framings", names);
    must(names.filter((name) => name === "content-length").length <= 1, "two lengths", names);
  }
}

function hear(method: string, pieces: readonly Buffer[]): Heard {
  const heads: (readonly [number, readonly string[]])[] = [];
  const body: string[] = [];
  let ends = 0;
  const reader = new AnswerReader({
    onHead: (status, headers) => heads.push([status, headers]),
    onData: (chunk) => body.push(chunk.toString("latin1")),
    onEnd: () => (ends += 1),
  });
  reader.begin(method);
  for (const piece of pieces) {
    if (reader.read(piece, piece.length) !== undefined)
      return { problem: true, heads, body: body.join(""), ends, isWhole: false };
  }
  return { problem: false, heads, isWhole: reader.close(), body: body.join(""), ends };
}
