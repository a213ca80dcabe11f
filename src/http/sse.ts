import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Duration from "effect/Duration"
import * as Stream from "effect/Stream"

/** A server-sent event; each line of its data is a `data:` line, which a reader joins again. */
export const event = (name: string, data: string): string =>
  `event: ${name}\n${data
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`

/** A line that readers pass over. */
export const comment = (text: string): string => `: ${text}\n\n`

/** Proxies close what is silent for longer than this, twice over. */
const heartbeat = Duration.seconds(15)

const pulse = Stream.tick(heartbeat).pipe(
  Stream.drop(1),
  Stream.map(() => comment("still here"))
)

const headers = {
  "cache-control": "no-cache, no-transform",
  // Nginx would hold back what is streamed.
  "x-accel-buffering": "no"
}

/**
 * Events as an answer, each part sent as it comes; the reader's pace is the stream's. The headers go out with a first
 * comment at once, and a comment every 15 s says that the server is there.
 */
export const respond = (parts: Stream.Stream<string>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(
    Stream.succeed(comment("clew")).pipe(
      Stream.concat(Stream.merge(parts, pulse, { haltStrategy: "left" })),
      Stream.encodeText
    ),
    { contentType: "text/event-stream", headers }
  )
