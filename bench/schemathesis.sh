#!/bin/sh
# Property tests of a running server against its own OpenAPI document, with schemathesis from PyPI:
#   sh bench/schemathesis.sh [examples for each operation and phase]
# Needs `npm run build` and Python 3; installs into a separate folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet schemathesis
SERVICE_API_KEY=bench CLEW_EMBEDDING_BACKEND=builtin CLEW_RATE_LIMIT_PER_SECOND=1000000 CLEW_LOG_LEVEL=warning \
  node "$root/dist/bin.js" serve --port 8497 --db "$work/index.db" &
server=$!
trap 'kill $server; wait $server; rm -rf "$work"' EXIT
until curl -sf http://127.0.0.1:8497/ready >/dev/null; do sleep 0.2; done
# /ws answers 101 only to a WebSocket, which schemathesis does not speak.
"$work/venv/bin/schemathesis" run http://127.0.0.1:8497/openapi.json --header "Authorization: Bearer bench" \
  --exclude-path /ws --max-examples "${1:-300}" --workers 2 --continue-on-failure \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection,ignored_auth,unsupported_method
