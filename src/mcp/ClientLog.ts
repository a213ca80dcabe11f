import type { LoggingLevel } from "@modelcontextprotocol/sdk/types.js"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { capitalize } from "effect/String"
import type { LogConfig } from "../Config.ts"

/** A log level of the configuration. */
export type OwnLevel = LogConfig["Type"]["level"]

/** MCP's levels, lowest first, mapped to ours. */
const levels: Readonly<Record<LoggingLevel, LogLevel.LogLevel>> = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  notice: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  critical: LogLevel.Fatal,
  alert: LogLevel.Fatal,
  emergency: LogLevel.Fatal
}

/** MCP's name of a level of ours: of the highest that it is not below. */
const nameOf = (level: LogLevel.LogLevel): LoggingLevel =>
  (["critical", "error", "warning", "info"] as const).find((name) => LogLevel.greaterThanEqual(level, levels[name])) ??
  "debug"

const textOf = (part: unknown): string =>
  part instanceof Error ? part.message : typeof part === "string" ? part : (JSON.stringify(part) ?? "")

export type Format = LogConfig["Type"]["format"]

type Send = (entry: { readonly level: LoggingLevel; readonly logger: string; readonly data: unknown }) => void

/** The log for one client: warnings and errors of its requests, until it sets another level. */
export const make = () => {
  let threshold: LogLevel.LogLevel = LogLevel.Warning
  let send: Send = () => {}
  const logger = Logger.make<unknown, void>(({ cause, logLevel, message }) => {
    if (!LogLevel.greaterThanEqual(logLevel, threshold)) return
    const parts = (Array.isArray(message) ? message : [message]).map(textOf)
    // Stack traces go only to the log.
    const why = Cause.isEmpty(cause) || Cause.isDie(cause) ? [] : [textOf(Cause.squash(cause))]
    send({ level: nameOf(logLevel), logger: "clew", data: [...parts, ...why].join(" ") })
  })
  return {
    logger,
    threshold: () => threshold,
    setLevel: (level: LoggingLevel) => {
      threshold = levels[level]
    },
    connect: (to: Send) => {
      send = to
    },
    /** Shows the client what an effect logs; the other logs get no more for it. */
    within: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(FiberRef.get(FiberRef.currentMinimumLogLevel), (own) => {
        if (LogLevel.greaterThanEqual(threshold, own)) {
          return Effect.locallyWith(effect, FiberRef.currentLoggers, HashSet.add(logger))
        }
        const others = HashSet.map((other: Logger.Logger<unknown, unknown>) =>
          Logger.filterLogLevel(other, LogLevel.greaterThanEqual(own))
        )
        return Logger.withMinimumLogLevel(effect, threshold).pipe(
          Effect.locallyWith(FiberRef.currentLoggers, (loggers) => HashSet.add(others(loggers), logger))
        )
      })
  }
}
export type ClientLog = ReturnType<typeof make>

/** The log of a process with one client, which sees all of it, together with the program's own log. */
export const makeOwn = (loggerOf: (format: Format) => Logger.Logger<unknown, void>) => {
  const client = make()
  let ownLogger = loggerOf("pretty")
  const delegate = Logger.make<unknown, void>((entry) => ownLogger.log(entry))
  let own: LogLevel.LogLevel = LogLevel.Info
  return {
    ...client,
    layer: Layer.merge(Logger.replace(Logger.defaultLogger, delegate), Logger.add(client.logger)),
    /** Sets the level and format of the program's own log. */
    setOwn: (level: OwnLevel, format: Format) => {
      ownLogger = loggerOf(format)
      own = LogLevel.fromLiteral(capitalize(level))
    },
    /** Lets through everything that the client wants to see, even if the program's own log wants less. */
    within: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() =>
        Logger.withMinimumLogLevel(effect, LogLevel.lessThan(client.threshold(), own) ? client.threshold() : own)
      )
  }
}
