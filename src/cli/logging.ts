import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type { LogConfig } from "../Config.ts"
import { harmless } from "./harmless.ts"

type Log = LogConfig["Type"]

/** Names of files and texts of others come into log lines too. */
const clean = (message: unknown): unknown =>
  typeof message === "string" ? harmless(message) : Array.isArray(message) ? message.map(clean) : message

/** Writes log lines on standard error, in the configured looks. */
export const loggerOf = (format: Log["format"], colors: boolean): Logger.Logger<unknown, void> =>
  format === "json"
    ? Logger.withConsoleError(Logger.jsonLogger)
    : Logger.mapInput(Logger.prettyLogger({ stderr: true, colors }), clean)

/** Log lines on standard error, the least and their looks as configured. */
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
