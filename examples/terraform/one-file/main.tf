# A whole configuration in one file: start here.

terraform {
  required_version = ">= 1.8"
  required_providers {
    gateway = {
      source = "gateform/gateway"
    }
  }
}

variable "directory" {
  description = "Directory that the gateway watches (`gateway run --config DIRECTORY`)."
  type        = string
}

resource "gateway_bundle" "main" {
  # Owner of the slice: one for each team or state.
  owner = "platform"

  runtime_flags {
    mcp = true
  }

  # An MCP server: users of one domain, without tools that delete.
  route "github" {
    from = "https://github.mcp.example.com"
    to   = ["http://github-mcp.internal:8080"]
    policy = jsonencode([
      { allow = { and = [{ domain = { is = "example.com" } }] } },
      { deny = { or = [{ mcp_tool = { starts_with = "delete_" } }] } },
    ])
    set_request_headers = {
      "X-Team" = provider::gateway::literal("platform")
      # Filled in by the gateway for each request.
      "X-Browser" = provider::gateway::request_header("User-Agent")
    }
    mcp {
      server {
        path = "/mcp"
      }
    }
  }

  # A web application: members of a group.
  route "wiki" {
    from   = "https://wiki.example.com"
    to     = ["http://wiki.internal:8080"]
    policy = jsonencode([{ allow = { and = [{ groups = { has = "staff" } }] } }])
    set_response_headers = {
      "X-Frame-Options" = "DENY"
    }
  }

  # Instead of `file`: a running gateway. Set its token in the environment variable GATEWAY_ADMIN_TOKEN:
  #   http {
  #     url = "https://gateway-admin.internal:9901"
  #   }
  file {
    directory = var.directory
  }
}

output "sha256" {
  description = "Digest of the published slice, as in the gateway's status."
  value       = gateway_bundle.main.sha256
}
