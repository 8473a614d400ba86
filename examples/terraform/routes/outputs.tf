output "sha256" {
  description = "Digest of what is published; the gateway's status shows the same."
  value       = gateway_bundle.this.sha256
}

output "policies" {
  description = "The policy of each route, for tests."
  value       = { for name, route in gateway_bundle.this.route : name => jsondecode(route.policy) }
}

output "headers" {
  description = "The request headers that each route sets, for tests."
  value       = { for name, route in gateway_bundle.this.route : name => route.set_request_headers }
}
