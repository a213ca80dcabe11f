import * as Effect from "effect/Effect"
import * as net from "node:net"

const message = (kind: string, body: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(kind), length, body])
}

/** What a server or a pooler says that accepts no connection. */
export const refusal = (code: string, text: string) =>
  message("E", Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`))

/** A step of asking for a password by SCRAM. */
export const asking = (step: number, text: string) =>
  message("R", Buffer.concat([Buffer.from([0, 0, 0, step]), Buffer.from(text)]))

/** The address of what gives these answers to whoever connects, one after another. */
export const answering = (...answers: ReadonlyArray<Buffer>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<net.Server>((resume) => {
        const listening = net.createServer((socket) => {
          const left = [...answers]
          socket.on("error", () => {})
          socket.on("data", () => socket.write(left.shift() ?? ""))
        })
        listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
      }),
      (listening) => Effect.sync(() => listening.close())
    ),
    (listening) => `postgres://somebody@127.0.0.1:${(listening.address() as net.AddressInfo).port}/somewhere`
  )
