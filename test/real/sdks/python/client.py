"""An MCP client on the official SDK (1.x or 2.x), driven by lines of JSON on stdin; what happens is a line of JSON on
stdout. Arguments: the server's address, "legacy" or "auto", and how it gets in: "none", "token" with a token, or "oauth"
with a redirect URI."""
import asyncio
import json
import logging
import sys
from contextlib import AsyncExitStack
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

try:
    from mcp import Client, MCPError
    from mcp.shared.auth import AuthorizationCodeResult

    ClientSession = None
except ImportError:  # 1.x
    from mcp import ClientSession
    from mcp import McpError as MCPError

logging.disable(logging.CRITICAL)
callbacks: asyncio.Queue = asyncio.Queue()


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


class Storage:
    """Tokens and registration in memory."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        say("tokens", token=tokens.access_token)

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info
        say("registered", client=client_info.client_id, secret=client_info.client_secret)


async def redirect(url):
    say("authorize", url=url)


async def callback():
    query = {name: values[0] for name, values in parse_qs(urlsplit(await callbacks.get()).query).items()}
    if "code" not in query:
        raise RuntimeError(f"authorization failed: {query}")
    if ClientSession:
        return query["code"], query.get("state")
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


async def on_message(message):
    method = getattr(getattr(message, "root", message), "method", None)
    if method == "notifications/tools/list_changed":
        say("changed")


def shown(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def connect(stack, url, mode, auth, value=None):
    provider = headers = None
    if auth == "oauth":
        metadata = OAuthClientMetadata(client_name="Python client", redirect_uris=[value])
        provider = OAuthClientProvider(url, metadata, Storage(), redirect, callback)
    elif auth == "token":
        headers = {"Authorization": f"Bearer {value}"}
    http = await stack.enter_async_context(create_mcp_http_client(headers=headers, auth=provider))
    if ClientSession:
        read, write, _ = await stack.enter_async_context(streamable_http_client(url, http_client=http))
        session = await stack.enter_async_context(ClientSession(read, write, message_handler=on_message))
        greeting = await session.initialize()
        say("connected", version=greeting.protocolVersion, server=greeting.serverInfo.name)
        return session
    transport = streamable_http_client(url, http_client=http)
    client = await stack.enter_async_context(Client(transport, mode=mode, message_handler=on_message))
    say("connected", version=client.protocol_version, server=client.server_info.name)
    return client


def tell_error(error, number):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    known = {"code": error.error.code, "data": error.error.data} if isinstance(error, MCPError) else {}
    say("error", id=number, type=type(error).__name__, message=str(error), **known)


async def carry_out(client, command):
    number = command["id"]
    try:
        if command["do"] == "list":
            say("tools", id=number, tools=shown(await client.list_tools())["tools"])
        elif command["do"] == "call":

            async def on_progress(progress, total, message):
                say("progress", id=number, progress=progress, total=total, message=message)

            result = await client.call_tool(command["tool"], command["arguments"], progress_callback=on_progress)
            say("result", id=number, result=shown(result))
        elif command["do"] == "listen":
            async with client.listen(tools_list_changed=True) as subscription:
                say("listening", id=number)
                async for _ in subscription:
                    say("changed")
    except BaseException as error:
        tell_error(error, number)


async def main():
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    ended = asyncio.Event()
    commands: asyncio.Queue = asyncio.Queue()

    async def read():
        while line := await lines.readline():
            command = json.loads(line)
            await (callbacks if command["do"] == "callback" else commands).put(command.get("url", command))
        ended.set()

    running = {asyncio.create_task(read())}
    try:
        async with AsyncExitStack() as stack:
            client = await connect(stack, *sys.argv[1:])
            while (command := await commands.get())["do"] != "close":
                running.add(asyncio.create_task(carry_out(client, command)))
        say("closed")
    except BaseException as error:
        tell_error(error, None)
        raise SystemExit(1) from None


asyncio.run(main())
