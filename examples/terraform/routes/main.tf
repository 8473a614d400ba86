terraform {
  required_version = ">= 1.8"
  required_providers {
    gateway = {
      source = "gateform/gateway"
    }
  }
}

locals {
  # For each team: who has access, and which tools are denied to all.
  # The branches of a conditional must have one type, and rules are of different ones: filtered lists instead.
  policies = {
    for name, team in local.teams : name => concat(
      [for group in [team.group] : { allow = { and = [{ accept = true }] } } if group == null],
      [for group in [team.group] : { allow = { and = [{ groups = { has = group } }] } } if group != null],
      [for tools in [team.denied_tools] : { deny = { and = [{ mcp_tool = { in = tools } }] } } if team.mcp && length(tools) > 0],
    )
  }
}

resource "gateway_bundle" "this" {
  owner = var.owner

  # The gateway asks these hosts whether they want OAuth of their own.
  mcp_allowed_as_metadata_domains = distinct(flatten([
    for team in values(local.teams) : [for to in team.to : regex("^https?://([^/:,]+)", to)[0]] if team.mcp
  ]))

  runtime_flags {
    mcp = anytrue([for team in values(local.teams) : team.mcp])
  }

  dynamic "route" {
    for_each = local.teams
    labels   = [route.key]
    content {
      from   = route.value.from
      prefix = route.value.prefix
      to     = route.value.to
      policy = jsonencode(local.policies[route.key])

      set_request_headers = merge(
        {
          "X-Team" = provider::gateway::literal(route.key)
          # Filled in by the gateway for each request.
          "X-Browser" = provider::gateway::request_header("User-Agent")
        },
        # What a team writes is sent as it stands.
        { for name, value in route.value.headers : name => provider::gateway::literal(value) },
      )

      dynamic "mcp" {
        for_each = route.value.mcp ? [1] : []
        content {
          server {}
        }
      }
    }
  }

  dynamic "file" {
    for_each = var.directory == null ? [] : [1]
    content {
      directory = var.directory
    }
  }

  lifecycle {
    precondition {
      condition     = alltrue([for team in values(local.teams) : team.mcp || length(team.denied_tools) == 0])
      error_message = "Only an MCP server has tools to deny: set mcp, or remove denied_tools."
    }
  }
}
