import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Chunk from "effect/Chunk"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Mailbox from "effect/Mailbox"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"

/** A server-sent event; each line of its data becomes a `data:` line, which readers join again. */
export const event = (name: string, data: string): string =>
  `event: ${name}\n${data
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`

/** A comment line, which readers skip; line ends in the text become spaces. */
export const comment = (text: string): string => `: ${text.replace(/[\r\n]+/g, " ")}\n\n`

/** Proxies close connections that are silent for more than twice this time. */
const heartbeat = Duration.seconds(15)

/** At most this many parts wait to be sent; then the writer waits. */
const ahead = 16

const headers = {
  "cache-control": "no-cache, no-transform",
  // Nginx would buffer the stream.
  "x-accel-buffering": "no"
}

/**
 * Streams what `write` emits; emitting waits for a slow reader. Headers and a first comment go out at once, and a
 * comment every 15 s keeps the connection alive. When the reader goes, `write` is interrupted.
 */
export const eventStream = (
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
      // Sends all waiting parts in one write.
      Stream.mapChunks((parts) => Chunk.of(Chunk.join(parts, ""))),
      Stream.encodeText
    ),
    { contentType: "text/event-stream", headers: { ...headers, ...more } }
  )
