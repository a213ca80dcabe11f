"""A client generated from the server's OpenAPI document, with types for each request and answer:

openapi-python-client generate --url http://127.0.0.1:8484/openapi.json --output-path generated
"""

import os
import sys

sys.path.insert(0, "generated")
from clew_client import AuthenticatedClient
from clew_client.api.search import query
from clew_client.models import Query, QueryResponse

client = AuthenticatedClient(
    base_url=os.environ.get("SERVICE_URL", "http://127.0.0.1:8484"), token=os.environ.get("SERVICE_API_KEY", "none")
)
found = query.sync(client=client, body=Query(query=" ".join(sys.argv[1:]), hybrid=True, top_k=3))
if not isinstance(found, QueryResponse):
    sys.exit(f"refused: {found}")
for result in found.results:
    print(f"{result.metadata.source}:{result.metadata.start_line}\n{result.text}\n")
