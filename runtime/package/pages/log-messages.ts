/**
 * Warnings and errors of the operator's log, and what each asks for. A test holds the keys to the sources.
 *
 * Groups in the order in which somebody on call looks; the messages themselves stand where they are logged.
 */
export const LOG_MESSAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Requests and upstreams": {
    "upstream failed":
      "`reason` is the word behind `upstream.` in the table of codes, `detail` the cause. Look at the upstream.",
    "upstream is unhealthy": "An upstream failed its health checks; `reason` says how. Look at the upstream.",
    "health checks are made less often than written":
      "The checks of `owner` would be more than its share (100 a second, 400 in all). Their intervals are `factor` times as long. Ask the owner for longer intervals or fewer checks.",
    "upstream is left out for a while":
      "An upstream answered with errors too often (`outlier_detection`). Look at its own log.",
    "list too long for the rules of its route, its end is hidden":
      "The list of an MCP server times the criteria of `route`, `criteria`, is more than 2,000,000. Ask the owner for fewer rules or the server for pages.",
    "request failed": "A bug: the client got `internal`. Report it with the lines around it.",
    "a task failed, it goes on":
      "A bug, in work that belongs to no request: `task` says which. It is done again the next time. Report it with `err`.",
    "an error that nobody caught: the process drains and ends":
      "A bug: `err` says where. What was under way finishes within `drain_timeout`; the supervisor, or what runs the process, starts another one. Report it.",
    "endpoint failed": "The same, at one of the gateway's own addresses.",
    "overload: requests are answered 503":
      "More requests come than the process can serve: see [Overload](../operations/capacity.md#overload).",
    "connections are closed: there are as many as may be":
      "`reason` is `all` where `max_connections` is reached, `client` where `peer` has as many as are free: see [Overload](../operations/capacity.md#overload).",
    "a connection cannot be accepted": "The system refuses it, for the reason in `failure`. Look at its memory.",
    "no descriptors are left: connections are closed as they come":
      "Raise the limit of open files (`LimitNOFILE`, `ulimit -n`), or set `max_connections` lower.",
    "there are descriptors again": "Nothing: it serves as before.",
  },
  Approvals: {
    "an approval cannot be looked for": "A call that needs an approval was refused: ask `/readyz` about the store.",
    "an approval cannot be used": "The same, of an approved call; it was not made.",
    "a call cannot wait for its approval": "The same; the client asks again.",
    "a call cannot be withdrawn": "The same; it waits until it is too old.",
    "it cannot be stored that an approved call was answered":
      "The call was made and answered; its approval says `unknown` for ever. Ask `/readyz` about the store.",
  },
  Configuration: {
    "configuration refused, the last good one stays":
      "`problems` says what is wrong. Correct and publish again; nothing changed for users.",
    "configuration rejected, the gateway does not start":
      "`problems` says what is wrong. Correct it and start again; `gateway check` finds the same before a start.",
    "not every owner is served as written, the others are":
      "Tell the owners that `problems` names: their last good slices stay in force, or last values of secrets.",
    "the start waits for the server of secrets":
      "The server of `vault` cannot be asked, for the `reason`: see [Secret store](../operations/secret-store.md). After 30 s what has no secret is refused.",
    "configuration warning": "The configuration is in force; `problem` says what is doubtful in it.",
    "boot settings changed, they take effect at the next start": "Restart, replica by replica.",
    "published slices cannot be read, the last ones stay":
      "The store, or the directory of slices, cannot be read. Mend it.",
    "the slices in force are not kept over a restart": "Mend the disk or store; until then do not restart.",
    "directory cannot be watched":
      "Changes are found by polling, later. Mostly the limit of inotify watches: raise `fs.inotify.max_user_watches`.",
    "certificates cannot be reloaded, the earlier ones stay": "Correct the certificate files before the old ones end.",
    "certificate of a slice cannot be used": "Tell the owner: its host is served with another certificate.",
    "configuration reload failed": "A bug: the last good configuration stays. Report it.",
    "a configuration change could not be prepared": "A bug: the change took effect more slowly. Report it.",
    "listener of configuration changes failed":
      "A bug: a part of the process may use the earlier configuration. Restart, and report it.",
    "worker ended": "A worker process ended and is started again; the lines before say why. Look at memory limits.",
  },
  "Records, traces and events": {
    "authorization records are not written":
      "Answers wait while the queue is full. Free the disk, or see who reads the standard output; `queued` records are not lost yet.",
    "authorization records cannot be written any more":
      "With `audit`, a record store or sinks: the thread of the records ended, `err` says why. The process ends with it, so that nothing goes unrecorded; whoever supervises it starts another. Report it.",
    "a record has no copy":
      "The log has it; the record store and sinks have its place alone. Report it, with `reason`.",
    "how far other audits came is not known":
      "With `audit`: this run does not say how far the others had come, so that an end cut off before it may go unseen. Mend the store.",
    "how far this audit came is not kept in the store":
      "The same for the next run; it is tried again at the next checkpoint. Mend the store.",
    "actions of administrators are not recorded yet":
      "They wait in the store and are looked for every 15 s. Mend the store.",
    "an action is not recorded":
      "A slice was published, and no record will say so: `err` says who and what. Mend the store.",
    "a record sink takes no records":
      "`reason` says why; it is asked again at growing intervals, and its records wait on the disk. Mend the receiver, see [Record sinks](../operations/record-sinks.md).",
    "a record sink loses records":
      "`reason` says why: `spool-full`, `refused` (by the receiver, others not), `damaged` or `too-long`. See [Record sinks](../operations/record-sinks.md).",
    "records were lost to a record sink":
      "How many, from when to when; the log has them, and a `record gap` in their place is sent to the receiver.",
    "the spool of a record sink cannot be written":
      "Free or mend the disk of `record_spool`; it goes on by itself. With `audit_required` no request passes meanwhile.",
    "what other processes left for a record sink cannot be read":
      "Records of a process that ended wait in `record_spool`, and are looked for every 30 s. Look at the disk and its rights.",
    "traces are not exported": "The receiver at `tracing.endpoint` does not take them. Requests do not wait for it.",
    "the webhook's receiver does not take an event":
      "`reason` says why; it is sent again for a day. Mend the receiver of `webhook`, or its address.",
    "the webhook's events cannot be kept":
      "Mend the store: they wait in the process meanwhile, 200 of each kind at most.",
    "an event was not taken within a day and is given up":
      "Nobody was told of it. Look at the log and `/status` for what happened, and mend the receiver.",
    "events are dropped: too many wait to be sent": "The same; `waiting` of them are still sent.",
  },
  Store: {
    "the store cannot be reached":
      "Mend the database or its network. Who was verified goes on for 5 minutes; nobody can sign in.",
    "store connection lost": "Nothing, unless it repeats: another connection is opened.",
    "store notifications lost, polling meanwhile":
      "Nothing, unless it repeats. With a pooler, `storage_url` must lead to PostgreSQL itself or a session pool.",
    "a feed cannot be read": "Revocations or changes of others are learned late. Mend the store.",
    "another process uses a shared secret that this one does not have":
      "What that process (`process`) makes is worth nothing here. Give this one the files of the others and restart it: see [Rotate keys](../operations/rotate-keys.md).",
    "the store is still owed": "Something that was done is not in the store yet, and is tried again. Mend the store.",
    "the store was not told, and this process stops":
      "`what` is lost, mostly revocations: repeat them with `gateway … revoke` once the store is back.",
    "other replicas are not told of a connection's change": "They learn of it by themselves later. Mend the store.",
    "rate limits cannot be counted together":
      "Each process counts by itself, with its share, or refuses, as `without_store` says. Mend the store.",
    "expired records not removed": "The store grows until this works. Mend the store.",
    "what is blocked cannot be read": "Blocks that are set now are not in force here. Mend the store.",
    "what was counted for the console waits for the store":
      "The console's plots have a gap until the store takes it. Mend the store.",
    "drift of locked tools is not shared":
      "Other processes go by what they have seen themselves; it is told again every second. Mend the store.",
    "blocks are not in force: their records cannot be understood":
      "Another version wrote them, or somebody changed them: unblock and block anew.",
    "a listener of blocks failed": "A bug: open streams of the blocked may go on. Restart, and report it.",
    "a listener of the revocation feed failed":
      "A bug: open streams of revoked sessions may go on. Restart, and report it.",
  },
  "Sign-in, users, devices": {
    "a sign-in failed":
      "`reason` has what the identity provider said, and the setting to change where it is known: secret, scopes, redirect URI, clock, egress. At level `error`, no user can sign in until it is changed.",
    "an answer came for a sign-in at another provider":
      "Once: the configuration changed meanwhile. Again: somebody tries to mix up providers, or a redirect URI is registered for another client.",
    "an action in the console was not done":
      "`reason` says why: no role, a form from elsewhere, or what failed. It is in the records, too.",
    "new records cannot be shown in the console":
      "The record store cannot be asked: lists stand still, and say so when they are loaded.",
    "the console cannot ask the record store": "The same, of a page: `reason` says why.",
    "a sign-in was refused: the user is blocked": "Nothing: see [Incidents](../operations/incidents.md#block).",
    "a credential cannot be verified now": "Store or provider cannot be reached: users get 503.",
    "a token of the identity provider cannot be verified now": "Allow egress to the provider's keys and userinfo.",
    "a user cannot be refreshed now": "Store or provider cannot be reached. Sessions go on for 5 minutes.",
    "the identity provider cannot confirm a user now":
      "`reason` says why: the provider does not respond, or (level `error`) does not accept the gateway, with the setting to change where it is known. Sessions stay valid.",
    "the identity provider refuses many users and confirms none: taken for an outage":
      "No session ends because of it. Check the provider (a disabled realm, a restored database). Each user is checked again every 30 seconds.",
    "the identity provider confirms others and not a user; sessions and grants end":
      "For `unconfirmed_user_limit` the provider gave no usable answer about this user. Mostly the user was removed there; `reason` has the answer. The user can sign in again if the provider allows it.",
    "userinfo could not be asked at a sign-in: further claims of the user are unknown":
      "Rules on these claims admit nobody by them. Allow egress to userinfo.",
    "the identity provider left out claims of a user: rules on them do not decide":
      "The user is in too many groups for the token. Limit the groups at the provider, or let the gateway ask for them (`idp_groups_resolver`).",
    "the identity provider grants no refresh token":
      "Logged once. Of users of provider `idp` (`default` is `idp_provider_url`) the gateway learns changes only when they sign in again. To get refresh tokens see [Identity providers](../guide/identity-providers.md): the scope `offline_access`, or `idp_request_params` at Google.",
    "the keys of an issuer cannot be read":
      "`issuer` is its name in `identity_issuers`, `reason` what its address answered. The last keys go on for a day; without any its assertions get 503.",
    "a back-channel logout was refused":
      "Nothing ended. `issuer` is its name in `identity_issuers` where that is known, `reason` what was wrong: mostly the client identifier (`logout_audiences`), the issuer's spelling or a clock.",
    "a SCIM client was refused: its token is wrong":
      "`peer` called below `/.gateway/scim/v2` without the token of the directory that it named, or of one that there is not. At the provider the new token is missing, or the old one is used after `previous_token` was taken away.",
    "a directory deactivated a user whom it does not name":
      "The user `user` of `directory` has no `attribute`, which would say who they are: nothing has ended. Map it at the provider.",
    "a directory renamed a group":
      "In `directory` the group `group` was called `before` and is called `after` now: policies that name it by `before` do not mean it any more.",
    "a directory's request could not be carried out":
      "A SCIM request was answered 503, and is sent again by the provider: `reason` says what kept changing meanwhile.",
    "a global token revocation was refused":
      "Nothing ended. `reason` says why: mostly the audience, which is the endpoint's own address, or a user of another issuer or domain (`email_domains`).",
    "an issuer's logout cannot be taken now":
      "The provider was told to send it again, and some do not: end what it meant with `gateway sessions revoke --user`. `reason` says what is away.",
    "the groups of a user are unknown: they cannot be asked for":
      "`reason` has what the resolver of groups said. Rules on groups do not decide for this user until it answers.",
    "a tool is hidden: its name can be read as another one that a rule names":
      "It cannot be called either. Name it exactly in a rule, use `is`, `in` or `not_in` instead of parts of names, or rename it at the server.",
    "a rule does not cover a tool whose name differs only by case or spelling":
      "Add `fold_case: true` to the rule, or name `tool` in it too, unless `rule` is another tool.",
    "a device was refused": "Nothing once; if the count of a device did not grow, revoke it.",
    "blocked by an administrator": "Nothing: says that a block is in force in this process.",
    "a block was lifted or replaced": "Nothing.",
    "a block has ended": "Nothing.",
  },
  "Upstream OAuth": {
    "the configured client of a route is bound to the issuer that its upstream named first":
      "Check `issuer`. To confirm or change it, set `authorization_server_url` of the route: the client's secrets go to that server only.",
    "an upstream cannot be connected":
      "`reason` says which part of discovery or registration failed, with what the server said. Allow egress, or set `upstream_oauth2`.",
    "an upstream was not connected":
      "`reason` has what the authorization server responded, with the setting to change where it is known.",
    "an upstream's authorization server has forgotten us":
      "Nothing: the gateway registers anew at the next connecting.",
    "an upstream wants credentials that nobody can give it by signing in: see upstream_oauth2, set_request_headers and mcp_allowed_as_metadata_domains":
      "Correct the route: clients get 502 `upstream.unauthorized`.",
    "an upstream token cannot be refreshed now":
      "The authorization server or the store does not answer: users get 503.",
    "an upstream token cannot be refreshed as the route is set up":
      "`reason` says what the authorization server does not accept, with the setting where it is known. Connections stay; users get 502 `upstream.unauthorized` once their token has expired.",
    "an upstream token cannot be obtained now":
      "Of `id_jag`, `workload` or `client_credentials`: `reason` says who does not answer. Users get 503.",
    "an upstream token cannot be obtained as the route is set up":
      "`reason` says what the identity provider or the authorization server does not take, or which issuer changed. Users get 502 `upstream.unauthorized` or `upstream.issuer-changed`; nobody is asked again for 30 seconds.",
    "an upstream connection cannot be read now": "The store does not answer: users get 503.",
    "an upstream's refusal cannot be handled now": "The store or discovery does not answer: users get 503.",
    "what an upstream wants cannot be kept now": "Nothing: learned anew at the next 401.",
  },
  "Admin listener": {
    "admin request failed": "A bug: the caller got 500. Report it.",
    "admin answer failed": "Nothing, unless it repeats: the caller went away.",
  },
  "Ingress controller (`gateway ingress watch`)": {
    "ingress has a problem": "Tell the namespace: the Event at the Ingress says the same.",
    "ingresses not published, trying again":
      "`place` does not take them: see `reason`; the gateway keeps the last ones.",
    "cannot write the status of ingresses, trying again":
      "The Ingresses are served, but `kubectl get ingress` shows an old address. `reason` says why, `right` names a missing right.",
    "cluster not reached, trying again": "Look at the API server, and at what is between it and the controller.",
    "a right to read the cluster is missing, trying again":
      "Give the controller the right that `right` names (examples/kubernetes-ingress/overlays/controller/rights.yaml; for a Secret: secrets-role.yaml). What it has read before stays active.",
    "connection to the cluster lost without an end, making another one":
      "Nothing, unless it repeats: what is between the controller and the API server then drops connections.",
    "lease not read or written, this controller cannot lead":
      "`reason` says why, `right` which rights on Leases are missing (examples/kubernetes-ingress/overlays/controller/rights.yaml). While no controller leads nothing is published.",
    "event not written":
      "`reason` says why, `right` names a missing right. The log has the text of the Event (`ingress has a problem`).",
  },
};
