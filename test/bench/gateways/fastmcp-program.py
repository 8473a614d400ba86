"""The program of rows/fastmcp.ts: `python fastmcp-program.py OPTIONS` with JSON. A proxy of FastMCP with middleware, as its documentation shows."""

import json
import sys
import time

from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from fastmcp.server.middleware import Middleware

options = json.loads(sys.argv[1])
records = open(options["records"], "a", buffering=1)


class Policy(Middleware):
    async def on_request(self, context, call_next):
        token = get_access_token()
        email = token.claims.get("email") if token else None
        allowed = email == "alice@example.com"
        try:
            if not allowed:
                raise ToolError("forbidden")
            return await call_next(context)
        finally:
            line = {"time": time.time(), "user": email, "method": context.method, "allowed": allowed}
            records.write(json.dumps(line) + "\n")

    async def on_call_tool(self, context, call_next):
        if context.message.name.startswith(options["denied"]):
            raise ToolError("forbidden tool")
        return await call_next(context)

    async def on_list_tools(self, context, call_next):
        tools = await call_next(context)
        return [tool for tool in tools if not tool.name.startswith(options["denied"])]


auth = JWTVerifier(
    public_key=options["key"], issuer=options["issuer"], audience=options["audience"], algorithm="RS256"
)
proxy = create_proxy(f"http://127.0.0.1:{options['upstream']}/mcp", name="proxy", auth=auth)
proxy.add_middleware(Policy())
proxy.run(
    transport="http",
    host="127.0.0.1",
    port=options["port"],
    path="/mcp",
    stateless_http=True,
    json_response=True,
    show_banner=False,
    log_level="error",
)
