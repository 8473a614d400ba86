variable "owner" {
  description = "Name of the slice that this state publishes."
  type        = string
}

variable "directory" {
  description = "Directory that the gateway watches; null to render the bundle only."
  type        = string
  default     = null
}

locals {
  # Read here and not given as a variable: Terraform validates a configuration before it knows the value of any variable,
  # and the labels of dynamic blocks must be known then. The attribute `routes` takes them as a variable: see ../modules.
  teams = {
    for name, team in yamldecode(file("${path.root}/teams.yaml")) : name => merge(
      # What a team need not say: every path, everybody, no MCP server, no further headers.
      { prefix = null, group = null, mcp = false, denied_tools = [], headers = {} },
      team,
    )
  }
}
