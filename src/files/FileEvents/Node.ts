import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { FileEvents, FileEventsLost } from "../FileEvents.ts"
import { rulesAround } from "../Walker/folder.ts"
import { attempt } from "../../model/attempt.ts"

/** Network file systems, which another machine may change, by their Linux numbers (statfs(2)). */
const remote = new Map([
  [0x69_69, "NFS"],
  [0x51_7b, "SMB"],
  [0xff_53_4d_42, "CIFS"],
  [0xfe_53_4d_42, "SMB2"],
  [0x01_02_19_97, "9P"],
  [0x53_46_41_4f, "AFS"],
  [0x00_c3_64_00, "Ceph"],
  [0x78_6f_73_76, "VirtualBox"]
])

/** The kind of network disk that holds a path; undefined for a local one. */
const remoteDisk = (path: string): string | undefined =>
  process.platform === "linux" ? attempt(() => remote.get(fs.statfsSync(path).type >>> 0)) : undefined

type Listener = (event: "rename" | "change", name: string | null) => void

/** The operating system, which a test may replace. */
export interface System {
  readonly open: (folder: string, recursive: boolean, listener: Listener) => fs.FSWatcher
  /** Linux watches one folder at a time, other systems all below it. */
  readonly recursive: boolean
  readonly remoteDisk: (path: string) => string | undefined
  /** Events that the system keeps for a busy reader; it drops the rest. */
  readonly queue: number
}

/** Linux reports its limit; other systems report dropped events. */
const queueOf = (): number =>
  attempt(() => Number(fs.readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"))) ?? Infinity

const machine: System = {
  open: (folder, recursive, listener) => fs.watch(folder, { recursive, persistent: false }, listener),
  recursive: process.platform === "darwin" || process.platform === "win32",
  remoteDisk,
  queue: queueOf()
}

/** Node reports no overflow of the queue, but a full queue is read in one turn of the event loop, and nothing else is. */
const counting = (system: System, ranOver: () => void): System => {
  let events = 0
  return {
    ...system,
    open: (folder, recursive, listener) =>
      system.open(folder, recursive, (event, name) => {
        if (events++ === 0) setImmediate(() => (events = 0))
        listener(event, name)
        if (events * 2 >= system.queue) ranOver()
      })
  }
}

/** Folders of other programs, whose many changes do not concern documents. */
const isForeign = (name: string): boolean => name === ".git" || name === "node_modules"

const lossOf = (error: NodeJS.ErrnoException, folder: string): FileEventsLost =>
  error.code === "ENOSPC"
    ? new FileEventsLost({
        reason: "the limit of inotify watches is reached",
        advice: "Raise it: sudo sysctl fs.inotify.max_user_watches=1048576"
      })
    : error.code === "EMFILE"
      ? new FileEventsLost({
          reason: "the limit of inotify instances or of open files is reached",
          advice: "Raise it: sudo sysctl fs.inotify.max_user_instances=1024, or ulimit -n"
        })
      : new FileEventsLost({
          reason: error.code === "ENOENT" ? `${folder} does not exist` : `${folder} cannot be watched: ${error.message}`
        })

/** How often to check that the watched file is still at its path: mounting a disk over it sends no event. */
const attention = Duration.seconds(5)

/** The identity of the file at a path; undefined if there is none or it cannot be read. */
const identityOf = (place: string): string | undefined => {
  const stats = attempt(() => fs.statSync(place))
  return stats && `${stats.dev}:${stats.ino}`
}

/** Whether there is a folder, as far as one may look. */
const isFolder = (place: string, look: typeof fs.statSync = fs.statSync): boolean =>
  attempt(() => look(place, { throwIfNoEntry: false })?.isDirectory()) === true

/**
 * Whether a watched folder tells of itself: that it was deleted or moved. Another may stand there, with its very inode.
 * It may also mean an entry of the same name.
 */
const isOfItself = (folder: string, event: "rename" | "change", name: string | null): boolean =>
  event === "rename" && name === path.basename(folder)

const replaced = (place: string) => new FileEventsLost({ reason: `${place} is gone or was replaced` })

/** Why a folder below the watched one is left out: it is gone by now, not readable, or too deep. */
const unwatchable: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "EACCES", "ENAMETOOLONG"])

/** Watches a folder and all folders below it, including new ones. */
class Tree {
  readonly #watchers = new Map<string, fs.FSWatcher>()
  readonly #identity: string | undefined

  constructor(
    private readonly root: string,
    private readonly system: System,
    private readonly changed: (path: string) => void,
    private readonly lost: (loss: FileEventsLost) => void
  ) {
    this.#identity = identityOf(root)
  }

  /** Reports if another folder has replaced the root. */
  check(): void {
    if (identityOf(this.root) !== this.#identity) this.lost(replaced(this.root))
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Watches a folder before reading it, so that a folder made meanwhile is either seen or reported. */
  add(from: string): void {
    const left = [from]
    for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
      if (!this.#watch(folder)) continue
      if (!this.system.recursive) left.push(...this.#foldersIn(folder))
    }
  }

  #watch(folder: string): boolean {
    try {
      this.#watchers.get(folder)?.close()
      const watcher = this.system.open(folder, this.system.recursive, (event, name) => this.#met(folder, event, name))
      watcher.on("error", (error) => this.lost(lossOf(error, folder)))
      this.#watchers.set(folder, watcher)
      return true
    } catch (error) {
      this.#watchers.delete(folder)
      const { code } = error as NodeJS.ErrnoException
      // Its parent reports when that changes.
      if (folder !== this.root && unwatchable.has(code)) return false
      this.lost(lossOf(error as NodeJS.ErrnoException, folder))
      return false
    }
  }

  #foldersIn(folder: string): ReadonlyArray<string> {
    return (attempt(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [])
      .filter((entry) => entry.isDirectory() && !isForeign(entry.name))
      .map(({ name }) => path.join(folder, name))
  }

  #met(folder: string, event: "rename" | "change", name: string | null): void {
    const isGone = folder === this.root && isOfItself(folder, event, name)
    if (isGone || (event === "rename" && identityOf(this.root) !== this.#identity))
      return this.lost(replaced(this.root))
    if (name === null) return this.changed(folder)
    const place = path.join(folder, name)
    if (name.split(path.sep).some(isForeign)) return
    if (!this.system.recursive) this.#follow(place, event)
    // After the watch is set, so that whatever was made before it is found.
    this.changed(place)
  }

  #follow(place: string, event: "rename" | "change"): void {
    const isKnown = this.#watchers.has(place)
    if (isKnown && event === "change") return
    const isNow = isFolder(place, fs.lstatSync)
    if (isKnown) this.#drop(place)
    // A folder that was deleted and made again may have its old inode, but not its old watch.
    if (isNow) this.add(place)
  }

  #drop(place: string): void {
    const below = `${place}${path.sep}`
    for (const [folder, watcher] of this.#watchers) {
      if (folder !== place && !folder.startsWith(below)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
  }
}

/** A file is watched through its folder, since programs replace files by new ones. */
const watchFile = (
  file: string,
  system: System,
  changed: (path: string) => void,
  lost: (loss: FileEventsLost) => void
) => {
  const name = path.basename(file)
  const folder = path.dirname(file)
  const identity = identityOf(folder)
  const check = () => {
    if (identityOf(folder) !== identity) lost(replaced(folder))
    // Something new may be a folder, which needs another kind of watch.
    else if (isFolder(file)) lost(new FileEventsLost({ reason: `${file} has become a folder` }))
  }
  try {
    const watcher = system.open(folder, false, (event, met) => {
      if (isOfItself(folder, event, met)) return lost(replaced(folder))
      if (met !== null && met !== name) return
      changed(file)
      check()
    })
    watcher.on("error", (error) => lost(lossOf(error, file)))
    return { check, close: () => watcher.close() }
  } catch (error) {
    lost(lossOf(error as NodeJS.ErrnoException, file))
    return { check, close: () => {} }
  }
}

const ignored = () => {}

const following = (
  places: ReadonlyArray<{ readonly root: string; readonly rules: ReadonlyArray<string> }>,
  system: System
) =>
  Stream.asyncPush<ReadonlyArray<string>, FileEventsLost>(
    (emit) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          let isOver = false
          const lost = (loss: FileEventsLost) => {
            if (isOver) return
            isOver = true
            emit.fail(loss)
          }
          const changed = (place: string) => void (isOver || emit.single([place]))
          const open: Array<{ readonly check: () => void; readonly close: () => void }> = []
          const counted = counting(system, () =>
            lost(new FileEventsLost({ reason: "more changed at once than the system reports" }))
          )
          for (const { root, rules } of places) {
            if (!isOver) open.push(watchOne(root, counted, changed, lost))
            // Rules that cannot be watched are read at the next scan.
            for (const file of isOver ? [] : rules) {
              const { close } = watchFile(file, system, () => changed(root), ignored)
              open.push({ check: ignored, close })
            }
          }
          if (!isOver) emit.single([])
          return open
        }),
        (open) => Effect.sync(() => open.forEach((each) => each.close()))
      ).pipe(
        Effect.tap((open) =>
          Effect.sync(() => open.forEach((each) => each.check())).pipe(
            Effect.delay(attention),
            Effect.forever,
            Effect.forkScoped
          )
        )
      ),
    { bufferSize: "unbounded" }
  )

const watchOne = (
  root: string,
  system: System,
  changed: (path: string) => void,
  lost: (loss: FileEventsLost) => void
) => {
  const disk = system.remoteDisk(root)
  if (disk !== undefined) {
    lost(
      new FileEventsLost({
        reason: `${root} is on a network disk (${disk}), which does not report changes made elsewhere`
      })
    )
  }
  if (!isFolder(root)) return watchFile(root, system, changed, lost)
  const tree = new Tree(root, system, changed, lost)
  tree.add(root)
  return tree
}

/** Node's `fs.watch`: one watch for each folder on Linux, one for a whole tree elsewhere. */
export const make = (system: System = machine): FileEvents["Type"] => ({
  watch: (paths) =>
    Stream.unwrap(
      Effect.map(
        Effect.forEach(paths, (root) => Effect.map(rulesAround(root), (rules) => ({ root, rules }))),
        (places) => following(places, system)
      )
    )
})

export const layer = Layer.succeed(FileEvents, make())
