/**
 * What once stood in several places and drifted apart there stands in one: each row is a piece of code by which such a
 * thing is known, and the only files that may have it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { expect, test } from "vitest";

import {
  hostSourceProblem,
  removeRequestHeaderProblem,
  responseHeaderProblem,
  setRequestHeaderProblem,
} from "../runtime/features/headers/names.ts";
import { HOP_BY_HOP } from "../runtime/shared/http/header-traits.ts";

const runtime = join(import.meta.dirname, "..", "runtime");

const sources: ReadonlyMap<string, string> = new Map(
  readdirSync(runtime, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [relative(runtime, file), readFileSync(file, "utf8")];
    }),
);

function filesWith(piece: RegExp): string[] {
  return [...sources].flatMap(([file, text]) => (piece.test(text) ? [file] : [])).toSorted();
}

interface Place {
  readonly piece: RegExp;
  readonly file: string;
}

const PLACES: Readonly<Record<string, Place>> = {
  "the closing of everything that was opened, whatever fails": {
    piece: /of \w+\.toReversed\(\)\) (?:\{\s+try \{\s+)?await \w+\.close\(\)/,
    file: "shared/faults/close-all.ts",
  },
  "the length of a pause that doubles": {
    piece: /(?:_MS|firstMs) \* 2 \*\*/,
    file: "shared/backoff.ts",
  },
  "the owner in the key of a route": {
    piece: /slice\(0, Math\.max\((?:0, )?\w+\.indexOf\("\/"\)/,
    file: "shared/route-key.ts",
  },
  "the list of hop-by-hop headers": {
    piece: /"transfer-encoding",\s+"upgrade",/,
    file: "shared/http/header-traits.ts",
  },
  "the collecting of a request's body": { piece: /[bB]ody\.on\("data"/, file: "http/body.ts" },
  "the wait for a lease that another has": {
    piece: /\.release\(\)\.catch\(\(\) => \{\}\)/,
    file: "shared/leased-refresh.ts",
  },
  "how a user's id says whose it is": {
    piece: /"issuer:"|startsWith\(`?"?service-account:/,
    file: "shared/user-id.ts",
  },
  "what an object is that is no list": {
    piece: /value !== null && !Array\.isArray\(value\);/,
    file: "shared/is-record.ts",
  },
  "the proof of a client at an endpoint": {
    piece: /(?:await|return) authenticateClient\(/,
    file: "oauth/server/clients/client-request.ts",
  },
  "the steps of a form of the user page": {
    piece: /!who\.ok \|\| !form\.ok/,
    file: "identity/users/user-form.ts",
  },
  "a path or address without the slash at its end": {
    piece: /(\w+)\.endsWith\("\/"\) \? \1\.slice\(0, -1\) : \1/,
    file: "shared/http/trim-slash.ts",
  },
  "https, or a host of this machine": {
    piece: /"https:" \|\| isLoopbackHost\(/,
    file: "settings/values.ts",
  },
  "what an id of Entra looks like": {
    piece: /\^\[0-9a-f\]\{8\}\(-\[0-9a-f\]\{4\}\)\{3\}/,
    file: "features/sign-in/settings.ts",
  },
  "when to ask again for what is away": {
    piece: /"retry-after",\s+"5"/,
    file: "http/respond.ts",
  },
  "how a secret's names follow from its own": {
    piece: /[}"]_(?:ref|sealed|wo)["`]/,
    file: "settings/secret-forms.ts",
  },
  "the listener that hears nothing": {
    piece: /function ignore\(\)/,
    file: "shared/ignore.ts",
  },
  // respond.ts knows what a gRPC call is answered; what forward.ts passes on is the upstream's.
  "the answering of a request": {
    piece: /(?<!\.)exchange\.respond\(/,
    file: "http/respond.ts",
  },
  "what is refused before a store's back end sees it": {
    piece: /encodeValue\(entry\)/,
    file: "store/checked-store.ts",
  },
  "the answer of an endpoint while the store is away": {
    piece: /"store\.unavailable"\) \|\| exchange\.started/,
    file: "http/endpoint.ts",
  },
  "the requests that wait for a connection to an upstream": {
    piece: /no connection became free in time/,
    file: "upstreams/request-pool.ts",
  },
  "who is in front of the browser": {
    piece: /principal\(exchange: Exchange, snapshot: Snapshot\): Promise<AuthResult>;/,
    file: "identity/interfaces.ts",
  },
  "what status says of a process first": { piece: /node: process\.version\b/, file: "admin-listener/process-facts.ts" },
  "which of those that a command names are not there": {
    piece: /There is no \$\{what\}/,
    file: "tools/commands/output.ts",
  },
  "the form of host[:port] in a request": { piece: /:\.\]\{2,45\}\\\]/, file: "shared/http/target.ts" },
};

test.each(Object.entries(PLACES))("%s stands in one place", (_what, { piece, file }) => {
  expect(filesWith(piece)).toEqual([file]);
});

/** Names of exported types that two files shared before this rule. Do not add any. */
const TWICE: ReadonlySet<string> = new Set(
  (
    "Admission AdmissionDeps Admitted AnswerHead AnswerReader Batch Call CallOwner Client ClientOptions " +
    "Connection ConnectionOwner ConnectionState DecisionRow DeviceDeps EndDeps Expectation People Pool " +
    "ProtectedResource Published ReadLine RecordsOptions RefusedAnswer ReplayInput ReplayOptions " +
    "RequestBody Segment SignInDeps TrailerFields"
  ).split(" "),
);

test("the name of an exported type stands in one file", () => {
  const files = new Map<string, string[]>();
  for (const [file, text] of sources) {
    const found = text.matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm);
    for (const name of new Set([...found].map(([, each = ""]) => each))) {
      const known = files.get(name);
      if (known) known.push(file);
      else files.set(name, [file]);
    }
  }
  const shared = [...files].filter(([, places]) => places.length > 1);
  expect(shared.filter(([name, places]) => !TWICE.has(name) || places.length > 2)).toEqual([]);
  expect([...TWICE].filter((name) => files.get(name)?.length !== 2)).toEqual([]);
});

test("commands print through one writer", () => {
  const commands = filesWith(/console\.(?:log|error)\(|std(?:out|err)\.write\(\w/).filter((file) =>
    /^(?:cli\.ts|tools\/)/.test(file),
  );
  expect(commands).toEqual(["cli.ts", "tools/commands/ingress.ts", "tools/commands/output.ts"]);
});

test("of the hop-by-hop headers settings may name one", () => {
  const open = (parseErrorOf: (name: string) => string | undefined): string[] =>
    [...HOP_BY_HOP].filter((name) => parseErrorOf(name) === undefined);
  const one = ["proxy-authentication-info"];
  expect([open(setRequestHeaderProblem), open(responseHeaderProblem), open(hostSourceProblem)]).toEqual([
    one,
    one,
    one,
  ]);
  // Removing those that go nowhere does no harm; the framing is not to be touched.
  expect(open(removeRequestHeaderProblem)).toEqual([...HOP_BY_HOP].filter((name) => name !== "transfer-encoding"));
});
