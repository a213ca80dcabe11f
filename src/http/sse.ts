import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Chunk from "effect/Chunk"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"

/** A server-sent event; each line of its data is a `data:` line, which a reader joins again. */
export const event = (name: string, data: string): string =>
  `event: ${name}\n${data
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`

/** A line that readers pass over, whatever line ends are in the text. */
export const comment = (text: string): string => `: ${text.replace(/[\r\n]+/g, " ")}\n\n`

/** Proxies close what is silent for longer than this, twice over. */
const heartbeat = Duration.seconds(15)

/** Parts made and not yet sent, at most; who makes more waits. */
const ahead = 16

const headers = {
  "cache-control": "no-cache, no-transform",
  // Nginx would hold back what is streamed.
  "x-accel-buffering": "no"
}

/**
 * What `write` emits as an answer, sent as it comes; emitting waits for a slow reader. The headers go out with a first
 * comment at once, and a comment every 15 s says that the server is there. When the reader goes, `write` is interrupted.
 */
export const respond = (
  write: (emit: (text: string) => Effect.Effect<void>) => Effect.Effect<void>,
  more: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const parts = yield* Mailbox.make<string>(ahead)
        const emit = (text: string) => Effect.asVoid(parts.offer(text))
        const pulse = Effect.repeat(emit(comment("still here")), Schedule.spaced(heartbeat))
        yield* emit(comment("clew"))
        yield* Effect.forkScoped(Effect.onExit(write(emit), (exit) => parts.done(Exit.asVoid(exit))))
        yield* Effect.forkScoped(Effect.delay(pulse, heartbeat))
        return Mailbox.toStream(parts)
      })
    ).pipe(
      // All that is there goes in one write.
      Stream.mapChunks((parts) => Chunk.of(Chunk.join(parts, ""))),
      Stream.encodeText
    ),
    { contentType: "text/event-stream", headers: { ...headers, ...more } }
  )
