# Takes web applications through a typed variable and gives their routes. It makes no resource: who calls it publishes.

terraform {
  required_version = ">= 1.8"
  required_providers {
    gateway = {
      source = "gateform/gateway"
    }
  }
}

locals {
  routes = {
    for name, app in var.apps : name => {
      from    = app.from
      to      = app.to
      timeout = app.timeout
      # Everybody who is signed in, or the groups alone.
      allow_any_authenticated_user = length(app.groups) == 0 ? true : null
      policy = length(app.groups) == 0 ? null : jsonencode([
        { allow = { or = [for group in app.groups : { groups = { has = group } }] } },
      ])
      set_request_headers = merge(
        # Filled in by the gateway for each request.
        { "X-Browser" = provider::gateway::request_header("User-Agent") },
        # What callers write is sent as it stands.
        { for header, value in coalesce(app.headers, {}) : header => provider::gateway::literal(value) },
      )
      # What is a block in a `route` is an object here.
      access = app.users == null ? null : { allowed_users = app.users }
    }
  }
}

output "routes" {
  description = "For `routes` of a gateway_bundle."
  value       = local.routes
}
