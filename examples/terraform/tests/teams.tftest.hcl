# terraform test: what the module makes of a map of teams. Nothing is published: plans only.

run "policies" {
  command = plan
  module {
    source = "./tests/fixture"
  }

  assert {
    condition     = output.policies["tools"][0].allow.and[0].groups.has == "engineering"
    error_message = "Only the group may use its tools."
  }
  assert {
    condition     = output.policies["tools"][1].deny.and[0].mcp_tool.in[0] == "delete_all"
    error_message = "A denied tool is denied to all."
  }
  assert {
    condition     = length(output.policies["public"]) == 1
    error_message = "A route without tools denies none."
  }
}

run "headers" {
  command = plan
  module {
    source = "./tests/fixture"
  }

  assert {
    condition     = output.headers["public"]["X-Price"] == "$$5 for $$${x}"
    error_message = "What a team writes is literal: dollars are doubled for the gateway."
  }
  assert {
    condition     = strcontains(output.headers["tools"]["X-Browser"], "gateway.request.headers")
    error_message = "The browser's name is filled in per request."
  }
}
