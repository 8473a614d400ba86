/**
 * Warnings and errors of the log, and the fix of each. A test compares the keys with the sources.
 *
 * Groups in the order in which an operator on call reads them.
 */
export const LOG_MESSAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Requests and upstreams": {
    "upstream failed":
      "`reason` is the word after `upstream.` in the [error codes](errors.md#routes), `detail` the cause. Check the upstream.",
    "upstream is unhealthy": "`reason` says which health check failed. Check the upstream.",
    "too many health checks, intervals extended":
      "The checks of `owner` exceed its share (100 a second, 400 in all), so intervals are `factor` times as long. Use longer intervals or fewer checks.",
    "upstream ejected": "The upstream returned errors too often (`outlier_detection`). Check its log.",
    "list too long for rules of its route, remaining entries hidden":
      "List entries times `criteria` of `route` exceed 2,000,000. Use fewer rules, or let the server page its lists.",
    "member of federated route has no part in response":
      "Its tools are missing at `route` (`reason`: `unavailable`, `invalid` or `too-long`). Check the upstream of `member`. Logged once a minute.",
    "notification about resource of another member dropped":
      "`member` reported a change of a resource that it does not list. If the resource is its own, add its start to `resource_prefixes`. Logged once a minute.",
    "name too long for federated route, not listed":
      "`name` with its prefix has more than 64 characters. Use a shorter prefix in `members`.",
    "guardrail gave no usable verdict":
      "A tool call (`phase`: `request`) or its result (`response`) was denied, or passed if in shadow. `reason` has the cause: check the service. Logged once a minute for each route. See [Guardrails](../guide/guardrails.md#troubleshoot).",
    "request failed": "A bug: the client got `internal`. Report it with the lines around it.",
    "background task failed": "A bug in a background task (`task`), which runs again. Report it with `err`.",
    "uncaught error, process drains and exits":
      "A bug (`err`). Requests in flight finish within `drain_timeout`, then the supervisor starts another process. Report it.",
    "endpoint failed": "A bug at one of the gateway's own addresses. Report it.",
    "overloaded, requests get 503": "See [Overload](../operations/capacity.md#overload).",
    "connection limit reached, new connections closed":
      "`reason` is `all` (`max_connections` reached) or `client` (`peer` has its share). See [Overload](../operations/capacity.md#overload).",
    "cannot accept connection": "The operating system rejects it (`failure`). Check its memory.",
    "out of file descriptors, new connections closed":
      "Raise the limit of open files (`LimitNOFILE`, `ulimit -n`), or lower `max_connections`.",
    "file descriptors available again": "No action.",
  },
  "Automatic certificates": {
    "cannot get certificate":
      "The order for `host` failed (`reason`); the next attempt is at `next`. The previous certificate stays in use. See [Automatic certificates](../operations/automatic-certificates.md#an-order-fails).",
    "cannot order certificates":
      "The certificate authority is unavailable or rejects the account (`reason`). All orders wait until `next`.",
    "cannot use stored certificate":
      "The stored certificate of `host` cannot be used (`reason`), such as after a change of `shared_secret`. A new one is ordered.",
    "cannot read automatic certificate":
      "The store is unavailable. Certificates in memory stay in use. Check the store.",
  },
  Approvals: {
    "cannot look up approval": "A call that needs an approval was denied. Check the store with `/readyz`.",
    "cannot use approval": "An approved call was not made. Check the store.",
    "cannot store pending call": "The call was denied; the client retries. Check the store.",
    "cannot withdraw pending call": "It stays pending until it expires. Check the store.",
    "cannot store outcome of approved call": "The call was made; its approval stays `unknown`. Check the store.",
  },
  Configuration: {
    "configuration rejected, previous valid version stays active":
      "Fix what `problems` lists and publish again. Users notice nothing.",
    "configuration rejected, gateway not started":
      "Fix what `problems` lists. `gateway check` finds it before a start.",
    "configuration of some owners out of date":
      "Notify the owners in `problems`: their previous valid slices, or last values of secrets, stay active.",
    "waiting for secret store":
      "The server of `vault` is unavailable (`reason`): see [Secret store](../operations/secret-store.md). After 30 s configuration without its secrets is rejected.",
    "configuration warning": "The configuration is active. Check `problem`.",
    "static settings changed, restart required": "Restart the replicas, one at a time.",
    "cannot read published slices, previous ones stay active": "Fix the store, or the directory of slices.",
    "cannot save active slices for the next start": "Fix the disk or store. Do not restart until then.",
    "cannot watch directory":
      "Changes are found later, by polling. Usually the inotify limit: raise `fs.inotify.max_user_watches`.",
    "cannot reload certificates, previous ones stay active": "Fix the certificate files before the old ones expire.",
    "cannot use certificate of slice": "Notify the owner: its host is served with another certificate.",
    "configuration reload failed": "A bug: the previous configuration stays active. Report it.",
    "cannot prepare configuration change": "A bug: the change took effect more slowly. Report it.",
    "configuration change listener failed":
      "A bug: part of the process may use the previous configuration. Restart, and report it.",
    "worker exited": "A worker process ended and is restarted; earlier lines say why. Check memory limits.",
  },
  "Records, traces and events": {
    "cannot write authorization records":
      "Responses wait while the queue is full. Free disk space, or check the reader of standard output. `queued` records are not lost yet.",
    "record writer ended, process exits":
      "The records thread ended (`err`), so the process ends. The supervisor starts another. Report it.",
    "cannot copy record":
      "The authorization log has the record; the record store and sinks have only its position. Report it, with `reason`.",
    "record store unavailable, records queued":
      "Nothing is lost until the queue is full (`reason`): [Records](../operations/records.md). With `audit_required` requests are denied meanwhile.",
    "record store drops records, log is complete":
      "`reason` is `spool-full` or `damaged`: [Records](../operations/records.md). A `record gap` in the log has the number.",
    "record store no longer drops records": "None: new records are stored again.",
    "cannot read audit heads of other processes":
      "Meanwhile this process does not record how far other audits came, which reveals removed ends. Fix the store.",
    "cannot store audit head":
      "Other processes cannot confirm the end of this process's audit. Retried at the next checkpoint. Fix the store.",
    "cannot record administrative actions, retrying":
      "They wait in the store and are retried every 15 s. Fix the store.",
    "cannot record publication": "A slice was published without a record: `err` has user and action. Fix the store.",
    "record sink unavailable, records queued":
      "Records wait on disk and are retried. Fix the destination (`reason`): [Record sinks](../operations/record-sinks.md).",
    "record sink drops records":
      "`reason` is `spool-full`, `refused`, `damaged` or `too-long`: [Record sinks](../operations/record-sinks.md).",
    "record sink lost records":
      "The line has their number and time range. The authorization log has the records; the destination gets a `record gap`.",
    "cannot write record spool":
      "Free or fix the disk of `record_spool`. With `audit_required` requests are denied meanwhile.",
    "cannot read record spools of ended processes":
      "Records of an ended process wait in `record_spool`, retried every 30 s. Check the disk and its rights.",
    "cannot export traces": "The destination `tracing.endpoint` rejects them or is unavailable. Requests do not wait.",
    "webhook delivery failed, retrying": "Retried for a day. Fix the destination of `webhook` (`reason`).",
    "cannot store webhook events": "Up to 200 of each kind wait in the process. Fix the store.",
    "webhook event dropped after 24 hours": "Check the log and `/status` for the event, and fix the destination.",
    "webhook queue full, events dropped": "`waiting` of them are still sent. Fix the destination.",
  },
  Store: {
    "store unavailable":
      "Fix the database or its network. Verified users stay signed in for 5 minutes; no user can sign in.",
    "store connection lost": "None, unless it repeats: another connection is opened.",
    "store notifications lost, polling instead":
      "None, unless it repeats. With a pooler, `storage_url` must lead to PostgreSQL itself or a session pool.",
    "cannot read feed": "Revocations and changes of other processes are learned late. Fix the store.",
    "shared secret of another process missing here":
      "What `process` makes is invalid here. Give this process the same files and restart it: [Rotate keys](../operations/rotate-keys.md).",
    "store writes pending": "A write is pending and retried. Fix the store.",
    "store writes lost on shutdown": "`what` is lost, usually revocations: repeat them with `gateway … revoke`.",
    "cannot notify replicas of upstream account change": "They learn of it later. Fix the store.",
    "cannot share rate limit counts":
      "Each process counts its share, or denies (`without_store`); calls of `history_rules` are denied. Fix the store.",
    "cannot remember the outcome of a task":
      "A rule that requires the call (`history_rules`) denies later ones. Fix the store.",
    "cannot remove expired records": "The store grows. Fix it.",
    "cannot read blocks": "New blocks are not active here. Fix the store.",
    "cannot write traffic counts": "The console's plots have a gap until it is written. Fix the store.",
    "cannot share drift of locked tools":
      "Other processes use only what they saw. Retried every second. Fix the store.",
    "cannot parse blocks, they are not active":
      "Another version wrote them, or they were changed: unblock and block again.",
    "block listener failed": "A bug: streams of blocked users may stay open. Restart, and report it.",
    "revocation listener failed": "A bug: streams of revoked sessions may stay open. Restart, and report it.",
  },
  "Sign-in, users, devices": {
    "sign-in failed":
      "`reason` has the identity provider's response, and the setting to change if known: secret, scopes, redirect URI, clock, egress. At level `error` no user can sign in until it is fixed.",
    "sign-in response from unexpected provider":
      "Once: the configuration changed meanwhile. Repeatedly: a mix-up attack, or a redirect URI registered for another client.",
    "console action failed": "`reason`: no role, a foreign form, or the failure. It is also recorded.",
    "cannot show new records in console": "The record store is unavailable; live lists stop.",
    "console cannot query record store": "A page is incomplete (`reason`). Check the record store.",
    "sign-in denied, user is blocked": "None: see [Incidents](../operations/incidents.md#block).",
    "cannot verify credential": "Store or provider is unavailable: users get 503.",
    "cannot verify identity provider token": "Allow egress to the provider's keys and userinfo.",
    "cannot refresh user": "Store or provider is unavailable. Sessions stay valid for 5 minutes.",
    "cannot confirm user with identity provider":
      "`reason`: the provider does not respond or, at level `error`, rejects the gateway, with the setting if known. Sessions stay valid.",
    "identity provider rejects every user, treated as outage":
      "No session ends. Check the provider (a disabled realm, a restored database). Each user is checked again every 30 seconds.",
    "user not confirmed by identity provider, sessions and grants ended":
      "The provider gave no usable response about this user for `unconfirmed_user_limit` (`reason`). Usually the user was deleted there. The user can sign in again if the provider permits it.",
    "cannot read userinfo at sign-in, further claims unknown":
      "Rules on these claims do not match. Allow egress to userinfo.",
    "claims omitted by identity provider, rules on them cannot decide":
      "The user has too many groups for the token. Limit them at the provider, or set `idp_groups_resolver`.",
    "no refresh token from identity provider":
      "Logged once. Changes of users of provider `idp` (`default` is `idp_provider_url`) are learned only at sign-in. Add the scope `offline_access`, at Google `idp_request_params`: [Identity providers](../guide/identity-providers.md).",
    "cannot read issuer keys":
      "`issuer` names it in `identity_issuers`, `reason` has the response. The last keys stay valid for a day; without any its assertions get 503.",
    "back-channel logout rejected":
      "No session ended. `reason`: usually the client ID (`logout_audiences`), the issuer's spelling or a clock.",
    "SCIM token rejected":
      "`peer` used a wrong token, or a directory that does not exist. Enter the new token at the provider before you remove `previous_token`.",
    "cannot identify deactivated directory user":
      "`user` of `directory` has no `attribute`, so no access ended. Map it at the provider.",
    "directory group renamed": "Policies that name `before` no longer match the group, now `after`.",
    "SCIM request failed": "The SCIM request got 503 and is repeated by the provider (`reason`).",
    "global token revocation rejected":
      "No access ended. `reason`: usually the audience (the endpoint's own address), or a user of another issuer or domain (`email_domains`).",
    "cannot process issuer logout":
      "Providers should repeat it, and some do not: run `gateway sessions revoke --user`. `reason` says what is unavailable.",
    "cannot resolve groups of user":
      "`reason` has the resolver's response. Rules on groups do not decide for this user until it responds.",
    "tool hidden, name can be mistaken for one in a rule":
      "It cannot be called. Name it exactly in a rule, use `is`, `in` or `not_in` instead of parts of names, or rename it at the server.",
    "tool not covered by rule, name differs only in case or spelling":
      "Add `fold_case: true` to the rule or name `tool` in it, unless `rule` means another tool.",
    "device rejected": "None once. If the device's counter did not grow, revoke it.",
    "blocked by an administrator": "None: a block became active.",
    "block removed or replaced": "No action.",
    "block expired": "No action.",
  },
  "Upstream OAuth": {
    "upstream client bound to the first issuer that its upstream named":
      "Check `issuer`. To confirm or change it, set `authorization_server_url` of the route: only that server gets the client's secrets.",
    "cannot connect upstream account":
      "`reason` says which part of discovery or registration failed. Allow egress, or set `upstream_oauth2`.",
    "upstream account not connected":
      "`reason` has the authorization server's response, and the setting to change if known.",
    "upstream client registration lost": "None: the gateway registers again at the next connection.",
    "upstream requires credentials that no sign-in provides":
      "Set `upstream_oauth2` or `set_request_headers` of the route, or add the server's domain to `mcp_allowed_as_metadata_domains`. Clients get 502 `upstream.unauthorized`.",
    "cannot refresh upstream token, server unavailable":
      "The authorization server or the store is unavailable: users get 503.",
    "cannot refresh upstream token, route settings rejected":
      "`reason` says what the authorization server rejects, with the setting if known. Users get 502 `upstream.unauthorized` after their token expired.",
    "cannot obtain upstream token, server unavailable":
      "For `id_jag`, `workload` or `client_credentials`; `reason` names the unavailable server. Users get 503.",
    "cannot obtain upstream token, route settings rejected":
      "`reason` says what the identity provider or authorization server rejects, or which issuer changed. Users get 502 `upstream.unauthorized` or `upstream.issuer-changed`; retried after 30 seconds.",
    "cannot read upstream account": "The store is unavailable: users get 503.",
    "cannot handle upstream rejection": "The store or the upstream's metadata is unavailable: users get 503.",
    "cannot store upstream authorization requirements": "None: discovered again at the next 401.",
  },
  "Admin listener": {
    "admin request failed": "A bug: the caller got 500. Report it.",
    "cannot send admin response": "None, unless it repeats: the caller disconnected.",
  },
  "Ingress controller (`gateway ingress watch`)": {
    "ingress has a problem": "Notify the namespace: the Ingress has an Event with the same text.",
    "cannot publish ingresses, retrying": "The gateway at `place` rejects them (`reason`) and keeps the previous ones.",
    "cannot write ingress status, retrying":
      "Ingresses are served, but `kubectl get ingress` shows an old address. `reason` has the cause, `right` a missing right.",
    "cannot reach cluster, retrying": "Check the API server, and the network between it and the controller.",
    "permission to read cluster missing, retrying":
      "Grant the right that `right` names (examples/kubernetes-ingress/overlays/controller/rights.yaml; for a Secret: secrets-role.yaml). What was read stays active.",
    "cluster connection lost, reconnecting":
      "None, unless it repeats: then the network between controller and API server drops connections.",
    "cannot read or write lease, controller cannot lead":
      "`reason` has the cause, `right` the missing rights on Leases (examples/kubernetes-ingress/overlays/controller/rights.yaml). Nothing is published while no controller leads.",
    "cannot write event":
      "`reason` has the cause, `right` a missing right. The log has the Event's text (`ingress has a problem`).",
  },
};
