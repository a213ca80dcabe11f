import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { extension, formatOfName } from "../../chunking/format.ts"
import { content } from "./content.ts"

const names = new Set(
  (
    "makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile rakefile gemfile brewfile podfile fastfile " +
    "guardfile justfile procfile pkgbuild build workspace cmakelists.txt meson.build sconstruct sconscript"
  ).split(" ")
)

/** In addition to those that decide the layout of any text (text/format.ts). */
const extensions = new Set(
  (
    "bzl bazel star cu cuh glsl hlsl wgsl vert frag ipp inl tpp ino cljd coffee litcoffee purs idr lean agda fsi fsx " +
    "hx cr pony odin vala jsonnet libsonnet rego dockerfile mjml pug ejs erb haml slim twig sbt gant ksh csh vim " +
    "bas cls for f03 f08 ada adb ads cob cbl prolog apl sas do jsm es6 cjsx pxd pyx rbi dhall cue bicep kql cypher"
  ).split(" ")
)

const shebang = [0x23, 0x21]

const isCode = (file: SourceFile): boolean => {
  const name = file.path.slice(file.path.lastIndexOf("/") + 1).toLowerCase()
  const ending = extension(file.path)
  if (names.has(name) || formatOfName(name) === "code") return true
  if (ending !== undefined) return extensions.has(ending)
  return shebang.every((byte, i) => file.head[i] === byte)
}

/** Source code, by the file's name, or by `#!` if it has no extension; one document a file. */
export const format: FileFormat = {
  name: "code",
  accepts: (file) => Effect.succeed(file.kind._tag === "Text" && isCode(file)),
  load: (file) =>
    Stream.fromEffect(
      Effect.map(content(file), (text): Loaded => ({ _tag: "Loaded", content: text, format: "code", metadata: {} }))
    )
}
