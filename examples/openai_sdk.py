"""OpenAI's SDK in Python: a streamed answer with its citations, and vectors of the packaged model."""

import os
import sys

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("SERVICE_URL", "http://127.0.0.1:8484") + "/v1",
    api_key=os.environ.get("SERVICE_API_KEY", "none"),
)
question = " ".join(sys.argv[1:])

citations = []
stream = client.chat.completions.create(
    model="clew", messages=[{"role": "user", "content": question}], stream=True, extra_body={"top_k": 3}
)
for chunk in stream:
    delta = chunk.choices[0].delta
    # The first chunk has the passages, which OpenAI's types do not know.
    citations += (delta.model_extra or {}).get("annotations", [])
    print(delta.content or "", end="", flush=True)
print()
for citation in citations:
    print(f"[{citation['index']}] {citation['source']}:{citation['start_line']}")

vectors = client.embeddings.create(model="clew-static-en-v1", input=[question, citations[0]["text"]])
a, b = (item.embedding for item in vectors.data)
print(f"The best passage is like the question by {sum(x * y for x, y in zip(a, b)):.2f}")
