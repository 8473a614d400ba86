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
    "health checks are made less often than written":
      "The checks of `owner` exceed its share (100 a second, 400 in all), so intervals are `factor` times as long. Use longer intervals or fewer checks.",
    "upstream is left out for a while": "The upstream returned errors too often (`outlier_detection`). Check its log.",
    "list too long for the rules of its route, its end is hidden":
      "List entries times `criteria` of `route` exceed 2,000,000. Use fewer rules, or let the server page its lists.",
    "request failed": "A bug: the client got `internal`. Report it with the lines around it.",
    "a task failed, it goes on": "A bug in a background task (`task`), which is repeated. Report it with `err`.",
    "an error that nobody caught: the process drains and ends":
      "A bug (`err`). Requests in flight finish within `drain_timeout`, then the supervisor starts another process. Report it.",
    "endpoint failed": "A bug at one of the gateway's own addresses. Report it.",
    "overload: requests are answered 503": "See [Overload](../operations/capacity.md#overload).",
    "connections are closed: there are as many as may be":
      "`reason` is `all` (`max_connections` reached) or `client` (`peer` has its share). See [Overload](../operations/capacity.md#overload).",
    "a connection cannot be accepted": "The operating system refuses it (`failure`). Check its memory.",
    "no descriptors are left: connections are closed as they come":
      "Raise the limit of open files (`LimitNOFILE`, `ulimit -n`), or lower `max_connections`.",
    "there are descriptors again": "None.",
  },
  Approvals: {
    "an approval cannot be looked for": "A call that needs an approval was denied. Check the store with `/readyz`.",
    "an approval cannot be used": "An approved call was not made. Check the store.",
    "a call cannot wait for its approval": "The call was denied; the client retries. Check the store.",
    "a call cannot be withdrawn": "It stays pending until it expires. Check the store.",
    "it cannot be stored that an approved call was answered":
      "The call was made; its approval stays `unknown`. Check the store.",
  },
  Configuration: {
    "configuration refused, the last good one stays":
      "Fix what `problems` lists and publish again. Users notice nothing.",
    "configuration rejected, the gateway does not start":
      "Fix what `problems` lists. `gateway check` finds it before a start.",
    "not every owner is served as written, the others are":
      "Notify the owners in `problems`: their previous valid slices, or last values of secrets, stay active.",
    "the start waits for the server of secrets":
      "The server of `vault` is unavailable (`reason`): see [Secret store](../operations/secret-store.md). After 30 s configuration without its secrets is rejected.",
    "configuration warning": "The configuration is active. Check `problem`.",
    "boot settings changed, they take effect at the next start": "Restart the replicas, one at a time.",
    "published slices cannot be read, the last ones stay": "Fix the store, or the directory of slices.",
    "the slices in force are not kept over a restart": "Fix the disk or store. Do not restart until then.",
    "directory cannot be watched":
      "Changes are found later, by polling. Usually the inotify limit: raise `fs.inotify.max_user_watches`.",
    "certificates cannot be reloaded, the earlier ones stay": "Fix the certificate files before the old ones expire.",
    "certificate of a slice cannot be used": "Notify the owner: its host is served with another certificate.",
    "configuration reload failed": "A bug: the previous configuration stays active. Report it.",
    "a configuration change could not be prepared": "A bug: the change took effect more slowly. Report it.",
    "listener of configuration changes failed":
      "A bug: part of the process may use the previous configuration. Restart, and report it.",
    "worker ended": "A worker process ended and is restarted; earlier lines say why. Check memory limits.",
  },
  "Records, traces and events": {
    "authorization records are not written":
      "Responses wait while the queue is full. Free disk space, or check the reader of standard output. `queued` records are not lost yet.",
    "authorization records cannot be written any more":
      "The records thread ended (`err`), so the process ends. The supervisor starts another. Report it.",
    "a record has no copy":
      "The log has it; the record store and sinks have only its position. Report it, with `reason`.",
    "the record store cannot be written, records wait":
      "Nothing is lost while there is room (`reason`): [Records](../operations/records.md). With `audit_required` requests are denied meanwhile.",
    "records are lost to the record store, the log has them":
      "`reason` is `spool-full` or `damaged`: [Records](../operations/records.md). A `record gap` in the log has the number.",
    "records are no longer lost to the record store": "None: new records are stored again.",
    "how far other audits came is not known":
      "This run cannot prove that other runs' ends are complete. Fix the store.",
    "how far this audit came is not kept in the store":
      "The same for the next run; retried at the next checkpoint. Fix the store.",
    "actions of administrators are not recorded yet":
      "They wait in the store and are retried every 15 s. Fix the store.",
    "an action is not recorded": "A slice was published without a record: `err` has user and action. Fix the store.",
    "a record sink takes no records":
      "Records wait on disk and are retried. Fix the destination (`reason`): [Record sinks](../operations/record-sinks.md).",
    "a record sink loses records":
      "`reason` is `spool-full`, `refused`, `damaged` or `too-long`: [Record sinks](../operations/record-sinks.md).",
    "records were lost to a record sink":
      "Number and time range. The log has them; the destination gets a `record gap`.",
    "the spool of a record sink cannot be written":
      "Free or fix the disk of `record_spool`. With `audit_required` requests are denied meanwhile.",
    "what other processes left for a record sink cannot be read":
      "Records of an ended process wait in `record_spool`, retried every 30 s. Check the disk and its rights.",
    "traces are not exported": "The destination `tracing.endpoint` does not accept them. Requests do not wait.",
    "the webhook's receiver does not take an event": "Retried for a day. Fix the destination of `webhook` (`reason`).",
    "the webhook's events cannot be kept": "Up to 200 of each kind wait in the process. Fix the store.",
    "an event was not taken within a day and is given up":
      "Check the log and `/status` for the event, and fix the destination.",
    "events are dropped: too many wait to be sent": "`waiting` of them are still sent. Fix the destination.",
  },
  Store: {
    "the store cannot be reached":
      "Fix the database or its network. Verified users stay signed in for 5 minutes; no user can sign in.",
    "store connection lost": "None, unless it repeats: another connection is opened.",
    "store notifications lost, polling meanwhile":
      "None, unless it repeats. With a pooler, `storage_url` must lead to PostgreSQL itself or a session pool.",
    "a feed cannot be read": "Revocations and changes of other processes are learned late. Fix the store.",
    "another process uses a shared secret that this one does not have":
      "What `process` makes is invalid here. Give this process the same files and restart it: [Rotate keys](../operations/rotate-keys.md).",
    "the store is still owed": "A write is pending and retried. Fix the store.",
    "the store was not told, and this process stops":
      "`what` is lost, usually revocations: repeat them with `gateway … revoke`.",
    "other replicas are not told of a connection's change": "They learn it later. Fix the store.",
    "rate limits cannot be counted together":
      "Each process counts its share, or denies (`without_store`). Fix the store.",
    "expired records not removed": "The store grows. Fix it.",
    "what is blocked cannot be read": "New blocks are not active here. Fix the store.",
    "what was counted for the console waits for the store":
      "The console's plots have a gap until it is written. Fix the store.",
    "drift of locked tools is not shared":
      "Other processes use only what they saw. Retried every second. Fix the store.",
    "blocks are not in force: their records cannot be understood":
      "Another version wrote them, or they were changed: unblock and block again.",
    "a listener of blocks failed": "A bug: streams of blocked users may stay open. Restart, and report it.",
    "a listener of the revocation feed failed":
      "A bug: streams of revoked sessions may stay open. Restart, and report it.",
  },
  "Sign-in, users, devices": {
    "a sign-in failed":
      "`reason` has the identity provider's response, and the setting to change if known: secret, scopes, redirect URI, clock, egress. At level `error` no user can sign in until it is fixed.",
    "an answer came for a sign-in at another provider":
      "Once: the configuration changed meanwhile. Repeatedly: a mix-up attack, or a redirect URI registered for another client.",
    "an action in the console was not done": "`reason`: no role, a foreign form, or the failure. It is also recorded.",
    "new records cannot be shown in the console": "The record store is unavailable; live lists stop.",
    "the console cannot ask the record store": "A page is incomplete (`reason`). Check the record store.",
    "a sign-in was refused: the user is blocked": "None: see [Incidents](../operations/incidents.md#block).",
    "a credential cannot be verified now": "Store or provider is unavailable: users get 503.",
    "a token of the identity provider cannot be verified now": "Allow egress to the provider's keys and userinfo.",
    "a user cannot be refreshed now": "Store or provider is unavailable. Sessions stay valid for 5 minutes.",
    "the identity provider cannot confirm a user now":
      "`reason`: the provider does not respond or, at level `error`, rejects the gateway, with the setting if known. Sessions stay valid.",
    "the identity provider refuses many users and confirms none: taken for an outage":
      "No session ends. Check the provider (a disabled realm, a restored database). Each user is checked again every 30 seconds.",
    "the identity provider confirms others and not a user; sessions and grants end":
      "For `unconfirmed_user_limit` the provider gave no usable response about this user, usually deleted there (`reason`). The user can sign in again if the provider permits it.",
    "userinfo could not be asked at a sign-in: further claims of the user are unknown":
      "Rules on these claims do not admit the user. Allow egress to userinfo.",
    "the identity provider left out claims of a user: rules on them do not decide":
      "The user has too many groups for the token. Limit them at the provider, or set `idp_groups_resolver`.",
    "the identity provider grants no refresh token":
      "Logged once. Changes of users of provider `idp` (`default` is `idp_provider_url`) are learned only at sign-in. Add the scope `offline_access`, at Google `idp_request_params`: [Identity providers](../guide/identity-providers.md).",
    "the keys of an issuer cannot be read":
      "`issuer` names it in `identity_issuers`, `reason` has the response. The last keys stay valid for a day; without any its assertions get 503.",
    "a back-channel logout was refused":
      "No session ended. `reason`: usually the client ID (`logout_audiences`), the issuer's spelling or a clock.",
    "a SCIM client was refused: its token is wrong":
      "`peer` used a wrong token, or a directory that does not exist. Enter the new token at the provider before you remove `previous_token`.",
    "a directory deactivated a user whom it does not name":
      "`user` of `directory` has no `attribute`, so no access ended. Map it at the provider.",
    "a directory renamed a group": "Policies that name `before` no longer match the group, now `after`.",
    "a directory's request could not be carried out":
      "The SCIM request got 503 and is repeated by the provider (`reason`).",
    "a global token revocation was refused":
      "No access ended. `reason`: usually the audience (the endpoint's own address), or a user of another issuer or domain (`email_domains`).",
    "an issuer's logout cannot be taken now":
      "Providers should repeat it, and some do not: run `gateway sessions revoke --user`. `reason` says what is unavailable.",
    "the groups of a user are unknown: they cannot be asked for":
      "`reason` has the resolver's response. Rules on groups do not decide for this user until it responds.",
    "a tool is hidden: its name can be read as another one that a rule names":
      "It cannot be called. Name it exactly in a rule, use `is`, `in` or `not_in` instead of parts of names, or rename it at the server.",
    "a rule does not cover a tool whose name differs only by case or spelling":
      "Add `fold_case: true` to the rule or name `tool` in it, unless `rule` means another tool.",
    "a device was refused": "None once. If the device's counter did not grow, revoke it.",
    "blocked by an administrator": "None: a block became active.",
    "a block was lifted or replaced": "None.",
    "a block has ended": "None.",
  },
  "Upstream OAuth": {
    "the configured client of a route is bound to the issuer that its upstream named first":
      "Check `issuer`. To confirm or change it, set `authorization_server_url` of the route: only that server gets the client's secrets.",
    "an upstream cannot be connected":
      "`reason` says which part of discovery or registration failed. Allow egress, or set `upstream_oauth2`.",
    "an upstream was not connected":
      "`reason` has the authorization server's response, and the setting to change if known.",
    "an upstream's authorization server has forgotten us": "None: the gateway registers again at the next connection.",
    "an upstream wants credentials that nobody can give it by signing in: see upstream_oauth2, set_request_headers and mcp_allowed_as_metadata_domains":
      "Fix the route: clients get 502 `upstream.unauthorized`.",
    "an upstream token cannot be refreshed now": "The authorization server or the store is unavailable: users get 503.",
    "an upstream token cannot be refreshed as the route is set up":
      "`reason` says what the authorization server rejects, with the setting if known. Users get 502 `upstream.unauthorized` after their token expired.",
    "an upstream token cannot be obtained now":
      "For `id_jag`, `workload` or `client_credentials`; `reason` names the unavailable server. Users get 503.",
    "an upstream token cannot be obtained as the route is set up":
      "`reason` says what the identity provider or authorization server rejects, or which issuer changed. Users get 502 `upstream.unauthorized` or `upstream.issuer-changed`; retried after 30 seconds.",
    "an upstream connection cannot be read now": "The store is unavailable: users get 503.",
    "an upstream's refusal cannot be handled now": "The store or discovery is unavailable: users get 503.",
    "what an upstream wants cannot be kept now": "None: discovered again at the next 401.",
  },
  "Admin listener": {
    "admin request failed": "A bug: the caller got 500. Report it.",
    "admin answer failed": "None, unless it repeats: the caller disconnected.",
  },
  "Ingress controller (`gateway ingress watch`)": {
    "ingress has a problem": "Notify the namespace: the Ingress has an Event with the same text.",
    "ingresses not published, trying again": "`place` rejects them (`reason`); the gateway keeps the previous ones.",
    "cannot write the status of ingresses, trying again":
      "Ingresses are served, but `kubectl get ingress` shows an old address. `reason` has the cause, `right` a missing right.",
    "cluster not reached, trying again": "Check the API server, and the network between it and the controller.",
    "a right to read the cluster is missing, trying again":
      "Grant the right that `right` names (examples/kubernetes-ingress/overlays/controller/rights.yaml; for a Secret: secrets-role.yaml). What was read stays active.",
    "connection to the cluster lost without an end, making another one":
      "None, unless it repeats: then the network between controller and API server drops connections.",
    "lease not read or written, this controller cannot lead":
      "`reason` has the cause, `right` the missing rights on Leases (examples/kubernetes-ingress/overlays/controller/rights.yaml). While no controller leads nothing is published.",
    "event not written":
      "`reason` has the cause, `right` a missing right. The log has the Event's text (`ingress has a problem`).",
  },
};
