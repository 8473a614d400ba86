# Publishes the slice that the team reviews as YAML: a plan of a changed one says who gains and who loses what.
terraform {
  required_providers {
    gateway = { source = "gateform/gateway" }
  }
}

variable "directory" {
  description = "Directory that the gateway watches."
  type        = string
}

locals {
  slice = yamldecode(file("${path.module}/desk.yaml"))
  # What `gateway tools lock` wrote, once it is reviewed and committed.
  lock  = "${path.module}/tools.lock.json"
  tools = try(one(values(jsondecode(file(local.lock)).servers)).tools, null)
  # What a `route` block has in groups stands in them here, too; addresses are a list, a policy is JSON text.
  routes = { for name, route in local.slice.routes : name => {
    from   = route.from
    prefix = route.prefix
    to     = [route.to]
    mcp = { server = merge(route.mcp.server, local.tools == null ? {} : {
      tool_lock = { tools = { for tool in local.tools : tool.definition.name => tool.digest... } }
    }) }
    policy = jsonencode(route.policy)
    access = { rate_limits = route.rate_limits }
  } }
}

resource "gateway_bundle" "desk" {
  owner  = local.slice.owner
  routes = local.routes
  file {
    directory = var.directory
  }
}
