variable "apps" {
  description = "Web applications by name. What is optional and not set is null in the route, which is the same as not written."
  type = map(object({
    from    = string
    to      = list(string)
    timeout = optional(string)
    headers = optional(map(string))
    # Who may pass; everybody who is signed in when it is empty.
    groups = optional(list(string), [])
    users  = optional(list(string))
  }))
}
