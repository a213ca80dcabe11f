"""The Python SDK's client against `clew mcp`; started by mcp-peers.mjs. Prints one line of JSON for each check."""

import asyncio
import json
import os
import re
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def check(what, holds, seen=None):
    print(json.dumps({"what": what, "holds": bool(holds), "seen": None if holds else repr(seen)}), flush=True)


def of(thing, name):
    """A field by its Python name in version 2 of the SDK, by its name on the wire in version 1."""
    wire = re.sub("_([a-z])", lambda match: match[1].upper(), name)
    return getattr(thing, name if hasattr(thing, name) else wire)


async def main():
    documents = json.loads(sys.argv[1])
    command, *args = sys.argv[2:]
    parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        started = await session.initialize()
        check("initialize", of(started, "server_info").name == "clew", started)
        await session.send_ping()
        check("ping", True)
        tools = await session.list_tools()
        check("list_tools", len(tools.tools) == 6, tools)
        steps = []

        async def on_progress(progress, total, message):
            steps.append(progress)

        # The session checks structured content against the tool's output schema.
        indexed = await session.call_tool("index_documents", {"documents": documents}, progress_callback=on_progress)
        check("call_tool index_documents", of(indexed, "structured_content")["unchanged"] == 2, indexed)
        check("progress", steps and steps[-1] == 2, steps)
        for name, arguments in [
            ("search", {"query": "tides", "filter": {"source": "docs/*"}}),
            ("get_prompt", {"query": "tides"}),
            ("get_document", {"source": "sea.md", "start_line": 1}),
            ("list_sources", {"limit": 1}),
            ("collection_info", {}),
        ]:
            result = await session.call_tool(name, arguments)
            check(f"call_tool {name}", not of(result, "is_error") and of(result, "structured_content"), result)
        try:
            wrong = await session.call_tool("search", {"query": "x", "top_k": 101})
            check("an argument out of range", False, wrong)
        except Exception as error:
            check("an argument out of range", "top_k must be between 1 and 100, got 101" in str(error), error)
        resources = await session.list_resources()
        check("list_resources", len(resources.resources) == 3, resources)
        templates = await session.list_resource_templates()
        check("list_resource_templates", len(of(templates, "resource_templates")) == 2, templates)
        stats = await session.read_resource("service://index/stats")
        check("read_resource", "chunks" in stats.contents[0].text, stats)
        document = await session.read_resource(resources.resources[1].uri)
        check("read_resource of a document", document.contents[0].text == documents[0]["content"], document)
        prompts = await session.list_prompts()
        check("list_prompts", len(prompts.prompts) == 2, prompts)
        prompt = await session.get_prompt("rag_answer", {"query": "tides", "top_k": "1"})
        check("get_prompt", "Question: tides" in prompt.messages[0].content.text, prompt)
        await session.set_logging_level("debug")
        check("set_logging_level", True)
    check("end", True)


asyncio.run(main())
