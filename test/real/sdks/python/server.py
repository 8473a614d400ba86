"""An MCP server on the official SDK (1.x or 2.x), at /mcp. Prints the port on which it listens."""
import asyncio
import socket
import urllib.request

import uvicorn
from pydantic import BaseModel

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:  # 1.x
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("python server")


class Sum(BaseModel):
    sum: int


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Reports each of its steps."""
    for step in range(1, count + 1):
        await ctx.report_progress(step, count, f"step {step}")
    return "done"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("out of order")


@server.tool()
def large(size: int) -> str:
    """Responds with a long text."""
    return "x" * size


@server.tool()
async def pay(url: str) -> str:
    """Asks an address, and responds with what that responds."""
    return await asyncio.to_thread(lambda: urllib.request.urlopen(url).read().decode())


@server.tool()
async def announce(ctx: Context) -> str:
    """Says that the list of tools has changed."""
    await ctx.session.send_tool_list_changed()
    if hasattr(ctx, "notify_tools_changed"):
        await ctx.notify_tools_changed()
    return "announced"


@server.tool()
def scoped() -> str:
    """Needs a scope at the gateway."""
    return "scoped"


@server.tool()
def forbidden() -> str:
    """Is denied by the gateway's policy."""
    return "forbidden"


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print("listening on", listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listener])
