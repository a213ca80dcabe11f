import * as Effect from "effect/Effect"
import * as net from "node:net"
import * as path from "node:path"
import type { Server } from "./server.ts"

/** A TCP address that leads to a server, as a proxy or a name does: it can be led elsewhere, cut, or become silent. */
export interface Way {
  readonly url: string
  /** New connections go to this server; those to the other one end. */
  readonly leadTo: (server: Server) => void
  /** Nothing passes any more, and nobody is told. */
  readonly silence: () => void
  /** What happens to the next COMMIT of a connection that has sent the word "moon". */
  atCommit: ((commit: Commit) => void) | undefined
}

interface Commit {
  readonly pass: () => void
  /** Ends the connection at once, or instead of the next answer. */
  readonly cut: () => void
  readonly cutAtAnswer: () => void
}

export const wayTo = (first: Server) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Way & { readonly end: () => void }>((resume) => {
        let to = first
        const open = new Set<net.Socket>()
        const cutAll = () => open.forEach((socket) => socket.destroy())
        const way = {
          url: "",
          leadTo: (server: Server) => {
            to = server
            cutAll()
          },
          silence: () => open.forEach((socket) => socket.pause()),
          atCommit: undefined as Way["atCommit"]
        }
        const listener = net.createServer((client) => {
          const server = net.connect(path.join(to.folder, ".s.PGSQL.5432"))
          const cut = () => {
            client.destroy()
            server.destroy()
          }
          for (const socket of [client, server]) {
            open.add(socket)
            socket.on("error", cut)
            socket.on("close", () => {
              open.delete(socket)
              cut()
            })
          }
          let [isAsked, isWithheld] = [false, false]
          client.on("data", (data) => {
            isAsked ||= data.includes("moon")
            const pass = () => void server.write(data)
            if (way.atCommit === undefined || !isAsked || !data.includes("COMMIT\0")) return pass()
            way.atCommit({ pass, cut, cutAtAnswer: () => void (isWithheld = true) })
            way.atCommit = undefined
          })
          server.on("data", (data) => {
            if (isWithheld) cut()
            else client.write(data)
          })
        })
        listener.listen(0, "127.0.0.1", () => {
          way.url = `postgres://postgres@127.0.0.1:${(listener.address() as net.AddressInfo).port}/postgres`
          const end = () => {
            cutAll()
            listener.close()
          }
          resume(Effect.succeed(Object.assign(way, { end })))
        })
      }),
      ({ end }) => Effect.sync(end)
    ),
    (way): Way => way
  )
