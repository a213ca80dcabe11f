import * as Cause from "effect/Cause"
import * as FiberId from "effect/FiberId"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as List from "effect/List"
import * as LogLevel from "effect/LogLevel"
import { capitalize } from "effect/String"
import * as Logger from "effect/Logger"
import type { LogConfig } from "../Config.ts"
import { printable, type Terminal } from "./terminal.ts"

type Log = LogConfig["Type"]
type Entry = Logger.Logger.Options<unknown>

/** Log lines may contain file names and texts from elsewhere. */
const clean = (message: unknown): unknown =>
  typeof message === "string" ? printable(message) : Array.isArray(message) ? message.map(clean) : message

const digits = (value: number, count = 2): string => String(value).padStart(count, "0")

const time = (date: Date): string =>
  `${digits(date.getHours())}:${digits(date.getMinutes())}:${digits(date.getSeconds())}.${digits(date.getMilliseconds(), 3)}`

/** The line that Effect's pretty logger writes of a plain text; undefined if there is more than that to write. */
const plainLine = ({ annotations, cause, date, fiberId, logLevel, message, spans }: Entry): string | undefined => {
  const text: unknown = Array.isArray(message) && message.length === 1 ? message[0] : message
  return typeof text === "string" && HashMap.isEmpty(annotations) && List.isNil(spans) && Cause.isEmpty(cause)
    ? `[${time(date)}] ${logLevel.label} (${FiberId.threadName(fiberId)}): ${text}`
    : undefined
}

type To = Pick<Terminal["Type"], "err" | "log">

/** Warnings and errors are written at once. */
const isUrgent = ({ logLevel }: Entry): boolean => LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)

const pretty = ({ err, log }: To): Logger.Logger<unknown, void> => {
  const colors = err.colors.isColorSupported
  const whole = Logger.prettyLogger({ stderr: true, colors })
  return Logger.make((entry) => {
    const line = colors ? undefined : plainLine(entry)
    if (line !== undefined) return log.add(line, isUrgent(entry))
    log.flush()
    whole.log(entry)
  })
}

/** Writes log lines to standard error in the configured format. */
export const loggerOf = (format: Log["format"], to: To): Logger.Logger<unknown, void> =>
  format === "json"
    ? Logger.make((entry) => to.log.add(Logger.jsonLogger.log(entry), isUrgent(entry)))
    : Logger.mapInput(pretty(to), clean)

/** Logs to standard error, with the configured level and format. */
export const logging = ({ format, level }: Log, to: To) =>
  Layer.merge(
    Logger.replace(Logger.defaultLogger, loggerOf(format, to)),
    Logger.minimumLogLevel(LogLevel.fromLiteral(capitalize(level)))
  )
