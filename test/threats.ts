/**
 * What is tried at each trust boundary of runtime/SECURITY.md, in its order, and the test that tries it; then the test of each secret.
 *
 * `kind` is of STRIDE: S spoofing, T tampering, R repudiation, I information disclosure, D denial of service, E elevation of privilege.
 * `test` is "file#title", as `npx vitest run --config test/vitest.config.ts FILE -t TITLE` takes them; `%s` stands for each case.
 * test/docs/threats.test.ts fails when a boundary has no entry, or a test is gone or skipped.
 */
export interface Threat {
  readonly attacker: string;
  readonly tries: string;
  readonly kind: string;
  readonly test: string;
}

/** Boundary → threats. */
export const THREATS: Readonly<Record<string, readonly Threat[]>> = {
  "public listener": [
    {
      attacker: "an untrusted client on the internet",
      tries: "have one request read in two ways, here and at the upstream",
      kind: "TE",
      test: "test/hostile/smuggling.test.ts#a chunked body goes upstream with one framing of our own",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "have something done after a request that was refused",
      kind: "E",
      test: "test/hostile/pipelined.test.ts#a request pipelined after %s is not executed",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "have certificates ordered for names that they request",
      kind: "D",
      test: "test/runtime/acme/due.test.ts#certificates are for hosts of routes and the sign-in host, with the owner's permission, within bounds",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "get past a rule on paths by another form of the path",
      kind: "E",
      test: "test/hostile/path-parameters.test.ts#a route is not walked around by a parameter behind an escape that servers keep",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "arrive with the gateway's identity headers already set",
      kind: "S",
      test: "test/hostile/forged-headers.test.ts#are the gateway's own, under both names, once each",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "wear the process out by streams that are opened and reset (CVE-2023-44487)",
      kind: "D",
      test: "test/hostile/http2-frames.test.ts#rapid resets end the connection (CVE-2023-44487)",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "keep connections open that never end",
      kind: "D",
      test: "test/hostile/sockets.test.ts#240 clients that never close their end leave no descriptor behind",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "send more requests than can be served, so that no request is answered in time",
      kind: "D",
      test: "test/runtime/http/admission/admission.test.ts#a client's requests wait behind their own client's only",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "have work done for requests that were canceled",
      kind: "D",
      test: "test/hostile/overload.test.ts#streams of HTTP/2 wait like connections: each ends once, and those that were reset are not begun",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "hold all connections, so that no other client gets one",
      kind: "D",
      test: "test/runtime/http/admission/connections.test.ts#boundConnections() gives a client as many as are free, and there is room for others",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "keep workers busy with connections that none of them accepts",
      kind: "D",
      test: "test/runtime/workers/workers.test.ts#closes connections when all workers are at their limit, and serves later ones",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "use up all descriptors, so that the process ends or stays deaf",
      kind: "D",
      test: "test/hostile/sockets.test.ts#without a descriptor left newcomers are closed, it is said once, and then they are served again",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "use all descriptors with streams to a slow upstream",
      kind: "D",
      test: "test/hostile/descriptors.test.ts#streams of HTTP/2 to a slow upstream do not use the descriptors of others",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "fill memory with request heads that never end",
      kind: "D",
      test: "test/hostile/held-bytes.test.ts#thousands of heads that never end, from one address, end no process with a small heap",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "read nothing of a response, so that it is held",
      kind: "D",
      test: "test/hostile/stalled-clients.test.ts#over HTTP/2, where it reads nothing at all",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "request many responses and read none, with an HTTP/2 window of 0",
      kind: "D",
      test: "test/hostile/held-bytes.test.ts#unread responses are bounded for one address, and released",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "get another client's response",
      kind: "I",
      test: "test/hostile/many-clients.test.ts#each of 600 interleaved requests of four users gets its own answer",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "learn from a refusal what is configured",
      kind: "I",
      test: "test/hostile/targets.test.ts#have the request id in header and body, and reveal nothing of the configuration",
    },
  ],
  "plain listener next to TLS (`http_redirect_address`)": [
    {
      attacker: "an untrusted client on the internet",
      tries: "reach a route with https://, or the gateway's own pages, in plain text",
      kind: "IE",
      test: "test/runtime/http/listener/tls.test.ts#a gateway with certificates serves TLS and redirects plain requests to it",
    },
  ],
  "MCP messages": [
    {
      attacker: "a signed-in user",
      tries: "name a denied tool so that policy reads another name than the server",
      kind: "E",
      test: "test/hostile/mcp-messages.test.ts#a denied tool is denied however its name is escaped",
    },
    {
      attacker: "a signed-in user",
      tries: "reach a denied tool by arguments, methods or lists around the rule",
      kind: "E",
      test: "test/hostile/lists.test.ts#hidden entries cannot be called, read or completed either",
    },
    {
      attacker: "a signed-in user",
      tries: "say something different to proxies on the way (`Mcp-Param-*`) than to the server",
      kind: "T",
      test: "test/runtime/mcp/message.test.ts#are refused with %s",
    },
    {
      attacker: "a signed-in user",
      tries: "get past `matches` in a deny rule by a line break or letters that fold",
      kind: "E",
      test: "test/runtime/policy/mcp/criteria.test.ts#a deny rule by a pattern also denies texts that differ only by a line break or a folding letter",
    },
    {
      attacker: "a signed-in user",
      tries: "put a value that is to be hidden into records, in another form of the argument",
      kind: "I",
      test: "test/runtime/audit/redaction/redactor.test.ts#%s redacts what the declared form does",
    },
    {
      attacker: "a malicious MCP client",
      tries: "send a message that is too long to be read",
      kind: "D",
      test: "test/hostile/mcp-messages.test.ts#an oversize chunked body is refused when it passes the limit",
    },
    {
      attacker: "a signed-in user",
      tries: "continue an MCP session of another user",
      kind: "S",
      test: "test/hostile/mcp-messages.test.ts#of another user: the message tells the client what to do, without naming the user",
    },
    {
      attacker: "a malicious upstream",
      tries: "change a tool after its review",
      kind: "T",
      test: "test/hostile/tool-lock.test.ts#a tool that no list has shown yet can be called when it is locked, and not when it is not",
    },
    {
      attacker: "a malicious upstream",
      tries: "change its instructions after their review",
      kind: "T",
      test: "test/hostile/locked-texts.test.ts#are emptied, also under `deny`: %s",
    },
    {
      attacker: "a malicious upstream",
      tries: "change a prompt after its review",
      kind: "T",
      test: "test/hostile/locked-texts.test.ts#that changed, or are new, are gone, cannot be got or completed, and are reported once",
    },
    {
      attacker: "a malicious upstream",
      tries: "hide a changed tool in the response to something else",
      kind: "T",
      test: "test/hostile/tool-lock-evasion.test.ts#in a response instead of the requested stream is rejected",
    },
    {
      attacker: "a malicious MCP client",
      tries: "stall the reader with 64 KiB of hostile text",
      kind: "D",
      test: "test/hostile/lessons.test.ts#%s takes hostile text of 64 KiB in its stride",
    },
    {
      attacker: "a malicious MCP client",
      tries: "hide a call from rules over earlier calls by how it is written",
      kind: "E",
      test: "test/runtime/proxy/history-rules.test.ts#an amount above the limit, written %s, does not reach the server",
    },
    {
      attacker: "a signed-in user",
      tries: "reset rules over earlier calls by a new session, client, token or replica",
      kind: "E",
      test: "test/flows/history-rules.test.ts#neither a new session, client, token, sign-in nor replica resets the rules of a user",
    },
    {
      attacker: "a malicious upstream",
      tries: "have untrusted content arrive once the window of a rule is over",
      kind: "E",
      test: "test/runtime/proxy/history-rules.test.ts#the result of a task counts when it is read, and that of a long call when it arrives",
    },
    {
      attacker: "a malicious upstream",
      tries: "fill memory behind a response whose success is being stored",
      kind: "D",
      test: "test/runtime/proxy/history-rules.test.ts#a stream that continues while a success is being stored is retained within a bound",
    },
    {
      attacker: "a signed-in user",
      tries: "hold the store's connections by parallel calls that rules count",
      kind: "D",
      test: "test/runtime/proxy/history-rules.test.ts#parallel calls of one user ask the store one after another, and wait for no other user",
    },
  ],
  credentials: [
    {
      attacker: "a malicious MCP client",
      tries: "use a credential of one kind at a door for another",
      kind: "SE",
      test: "test/hostile/token-kinds.test.ts#every kind of credential at every endpoint: only its own passes",
    },
    {
      attacker: "a signed-in user",
      tries: "use a credential of one route, host or resource at another",
      kind: "E",
      test: "test/hostile/whole-gateway.test.ts#%s opens what it is for and nothing else",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "get in while the store or a key is unavailable",
      kind: "S",
      test: "test/hostile/mcp-messages.test.ts#an unavailable store is 503, not a denial",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "get in through an error in authentication",
      kind: "S",
      test: "test/hostile/mcp-messages.test.ts#a failing authenticator is 500, not a pass",
    },
    {
      attacker: "a reader of logs",
      tries: "find a credential in logs or records",
      kind: "I",
      test: "test/hostile/whole-gateway.test.ts#are in no log line and no record either",
    },
    {
      attacker: "a signed-in user",
      tries: "use a session after its sign-out",
      kind: "S",
      test: "test/hostile/sign-out-postgres.test.ts#is effective at the other one within two seconds",
    },
    {
      attacker: "a signed-in user",
      tries: "show a proof of a device again, or from another session",
      kind: "S",
      test: "test/hostile/device-proofs.test.ts#is good once: the same answer again is refused, in the same session and in another",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "use a session that was taken from its browser on another device",
      kind: "S",
      test: "test/hostile/devices.test.ts#no request to a route that requires a device reaches its upstream, whatever the rule",
    },
  ],
  "approvals of tool calls": [
    {
      attacker: "a signed-in user",
      tries: "use an approval for another call than the one that was shown",
      kind: "T",
      test: "test/flows/approvals.test.ts#is approved for exactly the displayed arguments, user and grant",
    },
    {
      attacker: "a signed-in user",
      tries: "approve their own call",
      kind: "E",
      test: "test/flows/approvals.test.ts#cannot be approved by its own user, even as a member of the group",
    },
    {
      attacker: "a malicious MCP client",
      tries: "use one approval for several calls",
      kind: "E",
      test: "test/flows/approvals.test.ts#many concurrent requests are one call",
    },
    {
      attacker: "a malicious MCP client",
      tries: "show a user something else than what is approved",
      kind: "S",
      test: "test/flows/approvals.test.ts#shows everything: markup, invisible characters and direction marks",
    },
    {
      attacker: "a signed-in user",
      tries: "deny afterwards that they decided",
      kind: "R",
      test: "test/hostile/approvals.test.ts#the approver of a call is recorded for the audit",
    },
    {
      attacker: "a malicious MCP client",
      tries: "keep others from asking",
      kind: "D",
      test: "test/hostile/approvals.test.ts#does not block other callers",
    },
  ],
  "guardrails of MCP servers": [
    {
      attacker: "a guardrail that was taken over",
      tries: "have another tool called, or arguments that policy denies",
      kind: "TE",
      test: "test/runtime/proxy/guardrail.test.ts#%s: denied",
    },
    {
      attacker: "a guardrail that was taken over",
      tries: "have a changed call made with the approval of another",
      kind: "E",
      test: "test/runtime/proxy/guardrail.test.ts#%s is approved with its changed arguments",
    },
    {
      attacker: "a guardrail that was taken over",
      tries: "read the token or the cookies of a user",
      kind: "I",
      test: "test/runtime/proxy/guardrail.test.ts#is asked about with a signature, and without headers, cookies and tokens of the request",
    },
    {
      attacker: "a guardrail that was taken over",
      tries: "fill the memory, or hold calls forever",
      kind: "D",
      test: "test/runtime/proxy/guardrail.test.ts#a stream of 100 MiB ends at the limit: denied",
    },
    {
      attacker: "a malicious upstream",
      tries: "get a result past the guardrail in a form that only clients read",
      kind: "T",
      test: "test/runtime/proxy/guardrail.test.ts#%s is denied unread",
    },
  ],
  "tasks of MCP servers": [
    {
      attacker: "a signed-in user",
      tries: "read or cancel another user's task",
      kind: "IE",
      test: "test/flows/tasks.test.ts#a task is made, polled and its result read; only its maker gets at it",
    },
    {
      attacker: "a malicious upstream",
      tries: "hand out tasks that no client asked for",
      kind: "S",
      test: "test/hostile/tasks.test.ts#a stream about unrequested tasks gives no user access to them",
    },
    {
      attacker: "a malicious upstream",
      tries: "fill memory with tasks",
      kind: "D",
      test: "test/hostile/tasks.test.ts#thousands of tasks use no memory here, and each has one id",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "use a task of another agent run",
      kind: "IE",
      test: "test/runtime/proxy/history-rules.test.ts#two agent runs of one workload for one user share no task",
    },
  ],
  "OAuth clients": [
    {
      attacker: "a malicious MCP client",
      tries: "have a code sent to an address of its own",
      kind: "I",
      test: "test/hostile/differential-issuer.test.ts#authorization requests: every difference is explained by a named rule",
    },
    {
      attacker: "a malicious MCP client",
      tries: "use a stolen code a second time",
      kind: "S",
      test: "test/flows/issuer-token.test.ts#a code works once, and its replay ends the grant",
    },
    {
      attacker: "a malicious MCP client",
      tries: "use a refresh token that was rotated",
      kind: "S",
      test: "test/flows/issuer-refresh.test.ts#a repeat after 30 s ends the family",
    },
    {
      attacker: "a malicious MCP client",
      tries: "mix up two authorization servers",
      kind: "S",
      test: "test/flows/issuer-mix-up.test.ts#take neither each other's clients nor codes nor tokens, and a code tried at the wrong one stays good",
    },
    {
      attacker: "a malicious MCP client",
      tries: "have a user approve without seeing it",
      kind: "S",
      test: "test/flows/issuer-consent.test.ts#cannot be framed, cached or scripted, and lets the form's redirect go to https and to the client",
    },
    {
      attacker: "a malicious MCP client",
      tries: "cost time by keys of its own",
      kind: "D",
      test: "test/hostile/client-keys.test.ts#that registered before keys were bounded is verified with none of them",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "fill the store by registrations",
      kind: "D",
      test: "test/flows/issuer-register.test.ts#bounds how often one address registers, and says when to come back",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "have the gateway fetch documents without end",
      kind: "D",
      test: "test/hostile/budgets.test.ts#one peer cannot exhaust a pattern's budget, not even with a whole IPv6 network",
    },
  ],
  "trusted issuers (`identity_issuers`)": [
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "present a statement twice, or at two replicas at once",
      kind: "S",
      test: "test/hostile/id-jag.test.ts#though it comes again, and at two replicas at the same time",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "bring its own key or address in the statement",
      kind: "S",
      test: "test/hostile/id-jag.test.ts#by its signature: a key from its own header, or at a URL in it",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "speak about addresses of other domains",
      kind: "E",
      test: "test/hostile/id-jag.test.ts#e-mail addresses count only in the issuer's domains, and while it does not call them unverified",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "change a statement on its way",
      kind: "T",
      test: "test/hostile/id-jag-fuzz.test.ts#that were changed on their way are refused, unless they say the same",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "name a user of another issuer",
      kind: "S",
      test: "test/hostile/user-ids.test.ts#are two users, with claims, groups and tokens of their own",
    },
  ],
  "platforms (use `workload`, `publish_workloads`)": [
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "have a job's token taken for another job's",
      kind: "S",
      test: "test/hostile/workload-fuzz.test.ts#signed claims of any kind: only a matching workload gets a token",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "have one pod use the run of another, or a server that the run does not name",
      kind: "SE",
      test: "test/flows/agent-runs.test.ts#is of one pod, for its servers, and each token of the platform is exchanged once",
    },
    {
      attacker: "a signed-in user",
      tries: "approve a run of another user, also by a foreign page or a frame",
      kind: "TE",
      test: "test/flows/agent-runs.test.ts#shows and takes nothing of another user, in a frame, or by a script",
    },
    {
      attacker: "a writer of the store",
      tries: "change a run after its page was shown",
      kind: "TE",
      test: "test/flows/agent-runs.test.ts#approves only what it showed: a request that a writer of the store changes is not approved",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "have a workload ask for runs again and again",
      kind: "D",
      test: "test/flows/agent-runs.test.ts#is limited per approver and per workload, and a refusal is remembered",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "use a job's token a second time",
      kind: "S",
      test: "test/hostile/workload.test.ts#though it comes again, and at two replicas at the same time",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "be taken for a user",
      kind: "E",
      test: "test/hostile/workload.test.ts#by its issuer's uses: an issuer for users asserts no workloads",
    },
    {
      attacker: "a team that publishes",
      tries: "continue to publish after the job was taken away",
      kind: "E",
      test: "test/hostile/publish-workloads.test.ts#is a right that its issued token loses when the job is removed from the main configuration file",
    },
  ],
  "logout by trusted issuers (use `logout`)": [
    {
      attacker: "an untrusted client on the internet",
      tries: "sign a user out with an ID token",
      kind: "D",
      test: "test/hostile/logout-tokens.test.ts#an ID token of the provider itself",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "end users of another issuer",
      kind: "D",
      test: "test/hostile/global-revocation.test.ts#403: users of other issuers",
    },
    {
      attacker: "a signed-in user",
      tries: "finish a sign-in that began before the sign-out",
      kind: "S",
      test: "test/hostile/global-revocation.test.ts#a sign-in from before brings no tokens of the provider back",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "exhaust the reader of tokens",
      kind: "D",
      test: "test/hostile/logout-tokens.test.ts#more and more bad ones of one peer wait, good ones are not counted",
    },
  ],
  "providers of `directories` (SCIM)": [
    {
      attacker: "an untrusted client on the internet",
      tries: "learn which directories and tokens there are",
      kind: "I",
      test: "test/hostile/scim.test.ts#its token and the one before; a wrong one, another's and an unknown directory are alike",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "see users of another directory",
      kind: "I",
      test: "test/hostile/scim.test.ts#a directory sees nothing of another",
    },
    {
      attacker: "a signed-in user",
      tries: "continue after the directory has ended them",
      kind: "E",
      test: "test/flows/scim.test.ts#loses streams and tokens on every replica, and finds nothing again: %s",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "guess a directory's token",
      kind: "S",
      test: "test/hostile/scim.test.ts#many wrong tokens are slowed down, and the right one is not",
    },
  ],
  "several identity providers": [
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "have a code of another provider sent to it",
      kind: "I",
      test: "test/flows/second-provider.test.ts#that began under other settings of the name is refused, and no code is sent",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "lead a sign-in to another provider by its metadata (mix-up)",
      kind: "I",
      test: "test/flows/second-provider.test.ts#of the first that the second's metadata lead to (mix-up): its redirect URI is refused there, else its iss here",
    },
    {
      attacker: "a trusted issuer, platform or directory",
      tries: "be the user of another provider",
      kind: "S",
      test: "test/flows/second-provider.test.ts#have two users, each with the claims of their own provider",
    },
    {
      attacker: "a malicious web page in a user's browser",
      tries: "choose the provider for a browser",
      kind: "S",
      test: "test/flows/second-provider.test.ts#is remembered by the browser, without leading anywhere else",
    },
  ],
  "identity provider": [
    {
      attacker: "a malicious web page in a user's browser",
      tries: "finish a sign-in that was begun in another browser (login CSRF)",
      kind: "S",
      test: "test/runtime/identity/sign-in/sign-in-attacks.test.ts#is invalid in another browser (login CSRF), and afterwards in its own",
    },
    {
      attacker: "a malicious web page in a user's browser",
      tries: "lead a sign-in to another host",
      kind: "I",
      test: "test/runtime/identity/sign-in/sign-in-attacks.test.ts#goes nowhere but to configured hosts, even when well sealed",
    },
    {
      attacker: "a signed-in user",
      tries: "count with an address that the provider does not verify",
      kind: "S",
      test: "test/hostile/claims.test.ts#counts without email_verified, unless the settings require it",
    },
    {
      attacker: "a signed-in user",
      tries: "get past a rule because their groups are too many",
      kind: "E",
      test: "test/hostile/claims.test.ts#are neither there nor not there for %s",
    },
  ],
  upstreams: [
    {
      attacker: "a malicious upstream",
      tries: "set the gateway's cookies",
      kind: "S",
      test: "test/hostile/upstream-answers.test.ts#cannot be planted by settings of a route either (%s)",
    },
    {
      attacker: "a malicious upstream",
      tries: "have a truncated response look complete",
      kind: "T",
      test: "test/hostile/http2-frames.test.ts#an answer that breaks off at the upstream does not look complete",
    },
    {
      attacker: "a malicious upstream",
      tries: "give one client the response to another",
      kind: "I",
      test: "test/hostile/upstream-pipeline.test.ts#from an upstream that answers twice, closes, resets and breaks off at random",
    },
    {
      attacker: "a malicious upstream",
      tries: "hide a second response behind the first",
      kind: "T",
      test: "test/hostile/trailers.test.ts#of HTTP/1.1 hide no second answer",
    },
    {
      attacker: "a malicious upstream",
      tries: "be given a credential of the gateway",
      kind: "I",
      test: "test/hostile/whole-gateway.test.ts#contain no credential of ours except the application's own",
    },
    {
      attacker: "a malicious upstream",
      tries: "be given a route's client secret by naming itself as the authorization server",
      kind: "I",
      test: "test/hostile/upstream-issuers.test.ts#is the one that was used first: another one gets neither the user nor the client secret",
    },
    {
      attacker: "a malicious upstream",
      tries: "be given a platform's token that is for another server",
      kind: "I",
      test: "test/hostile/upstream-issuers.test.ts#a token of the platform for %s is not sent at first use",
    },
    {
      attacker: "a malicious upstream",
      tries: "be given codes of another authorization server (mix-up)",
      kind: "I",
      test: "test/flows/upstream-mix-up.test.ts#metadata with another server's authorization endpoint cause no redirect there",
    },
    {
      attacker: "a malicious upstream",
      tries: "wear the gateway out by pieces or header names",
      kind: "D",
      test: "test/hostile/upstream-pipeline.test.ts#by a Connection header that names thousands of fields",
    },
  ],
  "published slices": [
    {
      attacker: "a team that publishes",
      tries: "take down others by a bad slice",
      kind: "D",
      test: "test/hostile/neighbours.test.ts#is validated against the active configuration, and goes live",
    },
    {
      attacker: "a team that publishes",
      tries: "read a secret of the main configuration file by another form of its name",
      kind: "I",
      test: "test/hostile/slices.test.ts#is out of reach of a slice %s",
    },
    {
      attacker: "a team that publishes",
      tries: "publish under the name of another",
      kind: "S",
      test: "test/hostile/publish-tokens.test.ts#publishes no other owner's slice under its own name",
    },
    {
      attacker: "a team that publishes",
      tries: "continue a token that has ended",
      kind: "S",
      test: "test/hostile/minted-tokens.test.ts#is valid at every replica while its issuing token is in the main configuration file",
    },
    {
      attacker: "a team that publishes",
      tries: "read another owner's slice or status",
      kind: "I",
      test: "test/hostile/publish-tokens.test.ts#neither reads, replaces nor removes another owner's slice, nor learns whether there is one",
    },
  ],
  "one owner's routes": [
    {
      attacker: "a team that publishes",
      tries: "be handed tokens of its visitors for other services",
      kind: "I",
      test: "test/hostile/owners.test.ts#gets no External Tokens of its visitors by publishing an MCP client route",
    },
    {
      attacker: "a team that publishes",
      tries: "have visitors' ID tokens exchanged for access",
      kind: "E",
      test: "test/hostile/owners.test.ts#has no ID tokens of its visitors exchanged for access to its upstream",
    },
    {
      attacker: "a team that publishes",
      tries: "call another owner's servers by an application's token",
      kind: "E",
      test: "test/hostile/owners.test.ts#opens its owner's servers and those that name its owner, and none of another owner",
    },
  ],
  "Ingresses and Services of a namespace": [
    {
      attacker: "a team that publishes",
      tries: "take a host of another namespace",
      kind: "S",
      test: "test/hostile/kubernetes-namespaces.test.ts#is not claimed by an Exact path next to its Ingress",
    },
    {
      attacker: "a team that publishes",
      tries: "reach a Service of another namespace",
      kind: "E",
      test: "test/hostile/kubernetes-namespaces.test.ts#is not reached by an ExternalName: there are none",
    },
    {
      attacker: "a team that publishes",
      tries: "publish so much that others do not fit",
      kind: "D",
      test: "test/hostile/kubernetes-namespaces.test.ts#leaves out the Ingresses of that namespace that do not fit, the newest first, and no others",
    },
  ],
  "Gateway API objects of a namespace": [
    {
      attacker: "a team that publishes",
      tries: "write what is read in two ways",
      kind: "T",
      test: "test/runtime/kubernetes/translate/gateway-api.test.ts#does not read %s",
    },
    {
      attacker: "a team that publishes",
      tries: "publish so much that others do not fit",
      kind: "D",
      test: "test/runtime/kubernetes/translate/gateway-api.test.ts#omits a route that is larger than the configuration of its namespace can be",
    },
  ],
  "certificates that owners bring": [
    {
      attacker: "a team that publishes",
      tries: "show a certificate for a host of others",
      kind: "S",
      test: "test/hostile/host-certificates.test.ts#with a wildcard is for one label, and not for hosts that others serve",
    },
    {
      attacker: "a team that publishes",
      tries: "serve another owner's host over an open connection",
      kind: "S",
      test: "test/hostile/host-certificates.test.ts#serves other owners' hosts by their own routes, and 421 for unknown hosts",
    },
    {
      attacker: "a reader of logs",
      tries: "find the key",
      kind: "I",
      test: "test/hostile/host-certificates.test.ts#has its key nowhere but in the process",
    },
  ],
  "Secrets and labels of a namespace": [
    {
      attacker: "a team that publishes",
      tries: "read a Secret of another namespace",
      kind: "I",
      test: "test/hostile/kubernetes-certificates.test.ts#of another namespace is out of reach",
    },
    {
      attacker: "a team that publishes",
      tries: "open more than the path of a challenge",
      kind: "E",
      test: "test/hostile/kubernetes-namespaces.test.ts#is public on that one path of a host of its namespace, and changes nothing else",
    },
  ],
  "addresses of owners' upstreams": [
    {
      attacker: "a team that publishes",
      tries: "reach the gateway's own machine or the cloud's metadata",
      kind: "E",
      test: "test/hostile/local-upstreams.test.ts#%s over TLS is not reached either",
    },
    {
      attacker: "a team that publishes",
      tries: "keep a connection after its permission was withdrawn",
      kind: "E",
      test: "test/hostile/local-upstreams.test.ts#a revoked permission ends open connections",
    },
  ],
  "MCP server routes' paths": [
    {
      attacker: "a signed-in user",
      tries: "reach another path of the server with its operator's credential",
      kind: "E",
      test: "test/hostile/mcp-paths.test.ts#other paths than MCP endpoints are 404 and are not forwarded",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "learn what is served",
      kind: "I",
      test: "test/hostile/mcp-paths.test.ts#without a token the served paths are not revealed",
    },
  ],
  "announced addresses (MCP 2024-11-05)": [
    {
      attacker: "a malicious upstream",
      tries: "lead a client to another server",
      kind: "S",
      test: "test/hostile/legacy-sse.test.ts#an address that is not the caller's, or not the upstream's",
    },
    {
      attacker: "a signed-in user",
      tries: "post to the address of another user",
      kind: "E",
      test: "test/hostile/legacy-sse.test.ts#the address of another user, another route, or an unknown one is 404 and is not forwarded",
    },
  ],
  "the console": [
    {
      attacker: "a signed-in user",
      tries: "see or do there what their role does not have",
      kind: "E",
      test: "test/runtime/console/console.test.ts#refuses and records what needs another role, of that owner too",
    },
    {
      attacker: "a malicious web page in a user's browser",
      tries: "send a form in an operator's browser",
      kind: "S",
      test: "test/runtime/console/console.test.ts#are refused and recorded, whichever wall holds them back",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "put markup into a record that an operator reads",
      kind: "T",
      test: "test/runtime/console/decisions.test.ts#has texts of strangers inert, visible and cut",
    },
    {
      attacker: "a team that publishes",
      tries: "read records of another owner",
      kind: "I",
      test: "test/runtime/console/decisions.test.ts#of one owner that owner's records alone, however they are asked for",
    },
    {
      attacker: "a signed-in user",
      tries: "use an operator's session that was left open",
      kind: "E",
      test: "test/runtime/console/console.test.ts#asks for a sign-in when the last one is 15 minutes ago, and keeps what was chosen",
    },
    {
      attacker: "a signed-in user",
      tries: "deny afterwards what they did there",
      kind: "R",
      test: "test/runtime/console/console.test.ts#tells and records what was not done, and what may have been",
    },
  ],
  "our pages": [
    {
      attacker: "a malicious web page in a user's browser",
      tries: "read a page of ours from an application on its origin",
      kind: "I",
      test: "test/hostile/own-origin-scripts.test.ts#reads no page of ours with fetch: %s",
    },
    {
      attacker: "a malicious web page in a user's browser",
      tries: "send a form of ours",
      kind: "S",
      test: "test/hostile/own-origin-scripts.test.ts#sends no form of ours with fetch, not even with a token that it has",
    },
    {
      attacker: "a malicious MCP client",
      tries: "put markup into a page by its name",
      kind: "T",
      test: "test/flows/issuer-consent.test.ts#escapes the client's name",
    },
  ],
  blocks: [
    {
      attacker: "a signed-in user",
      tries: "continue what was begun before the block",
      kind: "E",
      test: "test/hostile/blocks.test.ts#an event stream that answers a WebSocket handshake is ended like any other",
    },
    {
      attacker: "a signed-in user",
      tries: "come back under another address or account",
      kind: "S",
      test: "test/hostile/blocks.test.ts#another account with the same address, and a service account with it, are also blocked",
    },
    {
      attacker: "a signed-in user",
      tries: "be served while blocks are unknown",
      kind: "E",
      test: "test/runtime/identity/blocks.test.ts#fails when the blocks cannot be read: the process must not serve",
    },
  ],
  "the admin API": [
    {
      attacker: "a team that publishes",
      tries: "list or end what belongs to users with a publish token",
      kind: "E",
      test: "test/hostile/admin-api.test.ts#%s: nothing is shown or done, at any address",
    },
    {
      attacker: "a malicious web page in a user's browser",
      tries: "block or end something with the operator's browser",
      kind: "S",
      test: "test/hostile/admin-api.test.ts#a cookie or a token in the query is ignored, and a page of another site gets and does nothing (CSRF)",
    },
    {
      attacker: "an untrusted client on the internet",
      tries: "list, block or end something without a token",
      kind: "E",
      test: "test/hostile/admin-api.test.ts#%s: nothing is shown or done, at any address",
    },
  ],
  "the server of secrets (`vault`)": [
    {
      attacker: "a malicious upstream",
      tries: "send the gateway's token elsewhere by a redirect",
      kind: "I",
      test: "test/runtime/vault/vault.test.ts#are not followed to %s",
    },
    {
      attacker: "a reader of logs",
      tries: "find a value or a token in a message",
      kind: "I",
      test: "test/runtime/vault/vault.test.ts#rejected for %s reports it, without a secret",
    },
    {
      attacker: "a team that publishes",
      tries: "read a secret besides those it is allowed",
      kind: "E",
      test: "test/runtime/bundle/vault-secrets.test.ts#are read before a slice is stored: unreadable ones are rejected, known ones accepted while the server is unavailable",
    },
  ],
  "the store": [
    {
      attacker: "a reader of the store or a backup",
      tries: "find a working credential",
      kind: "I",
      test: "test/store/upgrade-upstream.test.ts#holds every kind of record of the upstream side, each with its schema, and no secret in the clear",
    },
    {
      attacker: "a reader of the store or a backup",
      tries: "find a refresh token",
      kind: "I",
      test: "test/runtime/oauth/server/grants/refresh-token.test.ts#stores no token in plain text",
    },
    {
      attacker: "a signed-in user",
      tries: "read the file of the store on the same machine",
      kind: "I",
      test: "test/hostile/whole-gateway.test.ts#the store's file and its side files are readable by their owner only",
    },
    {
      attacker: "a reader of the store or a backup",
      tries: "find a working key for a slice",
      kind: "I",
      test: "test/hostile/neighbours.test.ts#leaves no secret of theirs in the store with their slice",
    },
    {
      attacker: "a reader of logs",
      tries: "change or cut records of decisions unseen",
      kind: "RT",
      test: "test/runtime/tools/audit/verify.test.ts#is not, after removing, repeating or swapping any lines, and the report names them",
    },
    {
      attacker: "a reader of logs",
      tries: "add a forged record that one reader of logs sees and another does not",
      kind: "T",
      test: "test/runtime/tools/audit/verify.test.ts#a forged record %s is seen by verification and by replay",
    },
    {
      attacker: "a signed-in user",
      tries: "use a credential twice because a process died",
      kind: "S",
      test: "test/flows/restart.test.ts#killing and restarting the proxy on SQLite loses no session, client, grant, consent, approval or state of history rules, and makes no call twice",
    },
    {
      attacker: "a team that publishes",
      tries: "have a record of a newer program misread by an older one",
      kind: "T",
      test: "test/runtime/store/formats.test.ts#never hands out a record of schema %j",
    },
    {
      attacker: "a writer of the store",
      tries: "become another user by changing a row of their own",
      kind: "SE",
      test: "test/hostile/store-writer.test.ts#a user who writes another user into their session is signed out",
    },
    {
      attacker: "a writer of the store",
      tries: "become another user by copying that user's row",
      kind: "SE",
      test: "test/hostile/store-writer.test.ts#a user who replaces their identity by another user's is signed out, and gets their own by signing in",
    },
    {
      attacker: "a writer of the store",
      tries: "have a token for another user by changing a grant",
      kind: "SE",
      test: "test/hostile/store-writer.test.ts#a user who writes %s into their grant gets no token",
    },
    {
      attacker: "a writer of the store",
      tries: "have more scope of another user by widening that user's consent",
      kind: "E",
      test: "test/hostile/store-writer.test.ts#more scope written into another user's approval has no effect: that user is asked",
    },
    {
      attacker: "a writer of the store",
      tries: "have a record of a decision written that no user made",
      kind: "T",
      test: "test/hostile/store-writer.test.ts#a line written into an administrator's action forges no record, and blocks no other action",
    },
    {
      attacker: "a writer of the store",
      tries: "lead users who sign in to a page of theirs",
      kind: "S",
      test: "test/hostile/store-writer.test.ts#%s written into the sign-in of another user causes no redirect there",
    },
    {
      attacker: "a writer of the store",
      tries: "have a secret sent to another server",
      kind: "I",
      test: "test/hostile/store-writer.test.ts#of a connection go nowhere when a row names another for %s",
    },
  ],
};

/** Secret of the table "Where each secret goes" → the test that it goes nowhere else. */
export const SECRET_TESTS: readonly (readonly [secret: string, test: string])[] = [
  [
    "`client_secret` of `upstream_oauth2`",
    "test/hostile/upstream-issuers.test.ts#is the one that was used first: another one gets neither the user nor the client secret",
  ],
  [
    "client assertions (`client_key`)",
    "test/hostile/upstream-issuers.test.ts#the gateway's own assertions name the issuer",
  ],
  [
    "credentials that the route itself uses (`client_credentials`)",
    "test/hostile/upstream-issuers.test.ts#%s of the route itself goes nowhere else either",
  ],
  [
    "the platform's token (`workload`)",
    "test/hostile/upstream-issuers.test.ts#a token of the platform for %s is not sent at first use",
  ],
  [
    "users' ID tokens (`id_jag`)",
    "test/flows/upstream-id-jag.test.ts#a user calls immediately; one provider request is made, for exactly this server",
  ],
  [
    "ID-JAGs",
    "test/flows/upstream-id-jag.test.ts#a user calls immediately; one provider request is made, for exactly this server",
  ],
  [
    "secrets of own registrations at authorization servers",
    "test/runtime/oauth/client/connect/token-endpoint.test.ts#credentials that are bound to %s are not sent: neither for a token nor to revoke one",
  ],
  [
    "authorization codes and PKCE verifiers at upstreams",
    "test/flows/upstream-mix-up.test.ts#metadata with another server's authorization endpoint cause no redirect there",
  ],
  [
    "Internal Tokens: access tokens",
    "test/runtime/oauth/client/target.test.ts#%s is another party: users connect again",
  ],
  [
    "Internal Tokens: refresh tokens",
    "test/hostile/store-writer.test.ts#of a connection go nowhere when a row names another for %s",
  ],
  [
    "client secrets at identity providers, codes of sign-ins",
    "test/flows/second-provider.test.ts#that began under other settings of the name is refused, and no code is sent",
  ],
  ["the provider's tokens of users", "test/hostile/owners.test.ts#gets no provider token by leave for External Tokens"],
  [
    "secret of a groups resolver",
    "test/runtime/identity/provider/entra-groups.test.ts#sends both requests as they are documented",
  ],
  [
    "session and other own cookies",
    "test/hostile/whole-gateway.test.ts#contain no credential of ours except the application's own",
  ],
  [
    "External Tokens, refresh tokens and codes for MCP clients",
    "test/hostile/token-kinds.test.ts#every kind of credential at every endpoint: only its own passes",
  ],
  [
    "External Tokens of `gateway tools` (`--token-file`)",
    "test/runtime/tools/lock/tokens.test.ts#tokens go to the addresses of --url, and to no server that the lock names",
  ],
  [
    "application tokens (MCP client routes)",
    "test/hostile/owners.test.ts#gets no External Tokens of its visitors by publishing an MCP client route",
  ],
  ["the gateway's token at the server of secrets", "test/runtime/vault/vault.test.ts#are not followed to %s"],
  [
    "values behind `_ref`, sealed settings",
    "test/hostile/publish-tokens.test.ts#a sealed token is opened, and valid for its owner only",
  ],
  [
    "tokens of directories (SCIM)",
    "test/hostile/scim.test.ts#its token and the one before; a wrong one, another's and an unknown directory are alike",
  ],
  [
    "secrets of webhooks",
    "test/runtime/webhook/webhook.test.ts#is sent once, signed with each secret, however often and by however many processes it is seen",
  ],
  [
    "secrets of guardrails",
    "test/runtime/proxy/guardrail.test.ts#is asked about with a signature, and without headers, cookies and tokens of the request",
  ],
  [
    "headers of trace export",
    "test/runtime/tracing/otlp.test.ts#openOtlpSink() sends spans with their times, parents, attributes and status, and the configured headers",
  ],
  [
    "headers of record sinks",
    "test/runtime/record-sinks/delivery.test.ts#records arrive once, in order, with the configured headers; finished files are removed",
  ],
  [
    "`admin_token`, `publish_token`, minted tokens",
    "test/hostile/publish-tokens.test.ts#no slice may have an owner's token sent to its upstream",
  ],
  [
    "the pod's token (Kubernetes)",
    "test/runtime/issuers/kubernetes-issuer.test.ts#is the issuer of its service accounts: keys come from its API server, with the pod's own token",
  ],
  [
    "password of the database",
    "test/runtime/store/postgres.test.ts#openStore() with a wrong password names the URL without it",
  ],
  [
    "`shared_secret`, `signing_key`",
    "test/runtime/bundle/secrets.test.ts#the public key is the same for the same shared_secret, and has no private part",
  ],
];
