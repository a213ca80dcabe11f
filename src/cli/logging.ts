import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type { LogConfig } from "../Config.ts"
import { harmless } from "./harmless.ts"

type Log = LogConfig["Type"]

/** Log lines may contain file names and texts from elsewhere. */
const clean = (message: unknown): unknown =>
  typeof message === "string" ? harmless(message) : Array.isArray(message) ? message.map(clean) : message

/** Writes log lines to standard error in the configured format. */
export const loggerOf = (format: Log["format"], colors: boolean): Logger.Logger<unknown, void> =>
  format === "json"
    ? Logger.withConsoleError(Logger.jsonLogger)
    : Logger.mapInput(Logger.prettyLogger({ stderr: true, colors }), clean)

/** Logs to standard error, with the configured level and format. */
export const logging = ({ format, level }: Log, colors: boolean) =>
  Layer.merge(Logger.replace(Logger.defaultLogger, loggerOf(format, colors)), Logger.minimumLogLevel(levels[level]))

const levels = {
  all: LogLevel.All,
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  fatal: LogLevel.Fatal,
  none: LogLevel.None
} as const
