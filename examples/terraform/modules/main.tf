# Two modules give routes, this root publishes both: one bundle, changed as a whole.

terraform {
  required_version = ">= 1.8"
  required_providers {
    gateway = {
      source = "gateform/gateway"
    }
  }
}

variable "directory" {
  description = "Directory that the gateway watches; null to render the bundle only."
  type        = string
  default     = null
}

variable "apps" {
  description = "Web applications, see web-apps/variables.tf."
  type        = any
  default = {
    wiki = { from = "https://wiki.example.com", to = ["http://wiki.internal:8080"], groups = ["staff"] }
    status = {
      from    = "https://status.example.com"
      to      = ["http://status.internal:8080"]
      timeout = "5s"
      headers = { "X-Tier" = "silver" }
    }
  }
}

module "web_apps" {
  source = "./web-apps"
  apps   = var.apps
}

module "mcp_servers" {
  source = "./mcp-servers"
  domain = "example.com"
  servers = {
    issues = { to = "http://issues.internal:9000", denied_tools = ["delete_issue"] }
    search = { to = "http://search.internal:9000", denied_tools = [] }
  }
}

resource "gateway_bundle" "this" {
  owner = "platform"

  # Names are unique within the bundle; of two routes of one name merge() would keep the last.
  routes = merge(module.web_apps.routes, module.mcp_servers.routes)

  mcp_allowed_as_metadata_domains = module.mcp_servers.upstream_hosts
  runtime_flags {
    mcp = true
  }

  dynamic "file" {
    for_each = var.directory == null ? [] : [1]
    content {
      directory = var.directory
    }
  }

  lifecycle {
    precondition {
      condition     = length(setintersection(keys(module.web_apps.routes), keys(module.mcp_servers.routes))) == 0
      error_message = "A web application and an MCP server have one name."
    }
  }
}

output "sha256" {
  description = "Digest of what is published; the gateway's status shows the same."
  value       = gateway_bundle.this.sha256
}
