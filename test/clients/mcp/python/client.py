"""Connects to an MCP server with the official client and makes a picture.

client.py URL MODE      reads the API key from MCP_KEY, or, without one, takes the whole way by OAuth:
                        it prints the address that a person must open, and reads where the browser was sent from a line of its input.

Prints what it received as one line of JSON.
"""

import asyncio
import json
import os
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from mcp_types import ElicitResult


class Storage:
    """Keeps tokens and the registration for as long as the program runs."""

    def __init__(self):
        self.tokens = None
        self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def ask_to_open(address):
    print(json.dumps({"open": address}), flush=True)


async def sent_to():
    line = await asyncio.to_thread(sys.stdin.readline)
    query = {name: values[0] for name, values in parse_qs(urlsplit(line.strip()).query).items()}
    return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))


def http_client(url):
    key = os.environ.get("MCP_KEY")
    if key:
        return httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    metadata = OAuthClientMetadata(
        client_name="Python client",
        redirect_uris=["http://127.0.0.1:3999/callback"],
        grant_types=["authorization_code", "refresh_token"],
    )
    oauth = OAuthClientProvider(url, metadata, Storage(), redirect_handler=ask_to_open, callback_handler=sent_to)
    return httpx2.AsyncClient(auth=oauth, timeout=60)


async def say_yes(context, params):
    return ElicitResult(action="accept", content={"confirm": True})


async def main(url, mode):
    async with http_client(url) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=say_yes) as client:
            tools = await client.list_tools()
            picture = await client.call_tool(
                "generate_image",
                {
                    "model_key": "picture",
                    "prompt": "A house by the sea",
                    "parameters": {"size": "96x64", "n": 2},
                    "idempotency_key": f"from-python-{mode}",
                },
            )
            refused = await client.call_tool("generate_image", {"model_key": "picture", "prompt": "x"})
    print(
        json.dumps(
            {
                "tools": [tool.name for tool in tools.tools],
                "task": picture.structured_content,
                "content": [part.type for part in picture.content],
                "refusal": refused.content[0].text,
            }
        ),
        flush=True,
    )


asyncio.run(main(sys.argv[1], sys.argv[2]))
