# Gives a route for each MCP server of a domain.

variable "domain" {
  description = "Servers are at https://<name>.<domain>."
  type        = string
}

variable "servers" {
  description = "MCP servers by name."
  type = map(object({
    to           = string
    denied_tools = list(string)
  }))
}

locals {
  policies = {
    for name, server in var.servers : name => concat(
      [{ allow = { and = [{ domain = { is = var.domain } }] } }],
      [for tools in [server.denied_tools] : { deny = { and = [{ mcp_tool = { in = tools } }] } } if length(tools) > 0],
    )
  }
}

output "routes" {
  description = "For `routes` of a gateway_bundle."
  value = {
    for name, server in var.servers : name => {
      from   = "https://${name}.${var.domain}"
      to     = [server.to]
      policy = jsonencode(local.policies[name])
      mcp    = { server = {} }
    }
  }
}

output "upstream_hosts" {
  description = "For `mcp_allowed_as_metadata_domains`: the gateway asks them whether they want OAuth of their own."
  value       = distinct([for server in values(var.servers) : regex("^https?://([^/:]+)", server.to)[0]])
}
