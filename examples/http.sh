#!/bin/sh
# The same as any program that speaks HTTP: index a document, ask for it, with curl alone.
set -eu
url=${SERVICE_URL:-http://127.0.0.1:8484}
key="Authorization: Bearer ${SERVICE_API_KEY:-none}"

curl --fail-with-body -sS "$url/index" -H "$key" -H 'Content-Type: application/json' \
  -d '{"documents": [{"content": "The bus to the lake leaves at nine.", "metadata": {"source": "bus.md"}}]}'
echo
curl --fail-with-body -sS "$url/query" -H "$key" -H 'Content-Type: application/json' \
  -d '{"query": "When does the bus leave?", "hybrid": true, "top_k": 1}'
echo
