import type { ComponentChildren, Ref } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { href } from "./address.ts"
import { formsOf, type Request } from "./asking.ts"
import { type Failure, key, root } from "./api.ts"
import { editor, editorAddress } from "./editors.ts"
import { useAttempt, useMay, useShell } from "./hooks.ts"

/** A modal dialog; Esc, its button and a click beside it close it, if it can be closed. */
export const Dialog = ({
  children,
  kind,
  onClose,
  title
}: {
  readonly title: string
  readonly onClose?: (() => void) | undefined
  readonly kind?: "wide" | "drawer"
  readonly children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current!
    element.showModal()
    // The focus goes back to where it was.
    return () => element.close()
  }, [])
  const close = () => {
    if (onClose !== undefined) dialog.current?.close()
  }
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-label={title}
      onCancel={(event) => {
        if (onClose === undefined) event.preventDefault()
      }}
      onClose={() => {
        // Browsers let a second Esc close any dialog.
        if (onClose === undefined) dialog.current?.showModal()
        else if (dialog.current !== null) onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close()
      }}
    >
      <div class="sheet">
        <header>
          <h2>{title}</h2>
          {onClose && (
            <button type="button" class="quiet icon" onClick={close} aria-label="Close">
              ✕
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** Asks for a number before something is gone for good, and then does it; `running` shows how far it is. */
export const Confirm = ({
  action,
  asked,
  children,
  onDone,
  run,
  running,
  title
}: {
  readonly title: string
  readonly action: string
  readonly asked: number
  readonly children: ComponentChildren
  readonly run: () => Promise<unknown>
  readonly onDone: (isDone: boolean) => void
  readonly running?: ComponentChildren
}) => {
  const [text, set] = useState("")
  const { attempt, failure } = useAttempt()
  const isEntered = text.trim() === String(asked)
  const keep = () => onDone(false)
  return (
    <Dialog title={title} onClose={running ? undefined : keep}>
      <form
        class="fields"
        onSubmit={() => {
          if (isEntered) void attempt(run).then((isDone) => isDone && onDone(true))
        }}
      >
        {children}
        <Trouble failure={failure} />
        {running || (
          <>
            <label>
              <span>Enter {asked} to confirm</span>
              <input
                value={text}
                inputMode="numeric"
                autoComplete="off"
                onInput={(event) => set(event.currentTarget.value)}
              />
            </label>
            <p class="actions">
              <button type="submit" class="danger" disabled={!isEntered}>
                {action}
              </button>
              <button type="button" onClick={keep}>
                Keep
              </button>
            </p>
          </>
        )}
      </form>
    </Dialog>
  )
}

/** What went wrong, and what the server says to do. */
export const Trouble = ({ failure }: { readonly failure: Failure | undefined }) =>
  failure === undefined ? null : (
    <div class="trouble" role="alert">
      <strong>{failure.message}</strong>
      {failure.errors.length > 1 && (
        <ul>
          {failure.errors.slice(0, 5).map(({ message, path }) => (
            <li key={path}>{message}</li>
          ))}
        </ul>
      )}
    </div>
  )

/** A source on one line, of a long one the end. */
export const SourcePath = ({
  children,
  source
}: {
  readonly source: string
  readonly children?: ComponentChildren
}) => (
  <span class="path" title={source}>
    <bdi>{children ?? source}</bdi>
  </span>
)

/** What is shown beside a list: a document, under its title and where it is. */
export const Panel = ({
  about,
  children,
  closed,
  label,
  links,
  source,
  title,
  within
}: {
  readonly label: string
  readonly title: string
  readonly source: string
  /** The address without the panel, and what closes. */
  readonly closed: readonly [address: string, what: string]
  readonly about: ComponentChildren
  readonly links: ComponentChildren
  readonly children: ComponentChildren
  readonly within: Ref<HTMLElement>
}) => (
  <aside class="panel" aria-label={label} ref={within} tabIndex={-1}>
    <header>
      <div class="title">
        <h2>{title}</h2>
        <a class="button quiet icon" href={closed[0]} aria-label={`Close the ${closed[1]}`}>
          ✕
        </a>
      </div>
      <p class="where">
        <SourcePath source={source} />
        {about}
      </p>
      {links}
    </header>
    {children}
  </aside>
)

/** The names of a table's columns. */
export const Columns = ({ names }: { readonly names: ReadonlyArray<ComponentChildren> }) => (
  <thead>
    <tr>
      {names.map((name, at) => (
        <th key={at} scope="col">
          {name}
        </th>
      ))}
    </tr>
  </thead>
)

/** Names, each with what is to be said of it; without that it is left out. */
export const Facts = ({
  facts
}: {
  readonly facts: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}) => (
  <dl class="facts">
    {facts.map(
      ([name, value], at) =>
        value !== undefined && (
          <div key={at} class="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        )
    )}
  </dl>
)

/** A field of one line, whose label is also what stands in it while it is empty. */
export const Field = ({
  label,
  onText,
  placeholder = label,
  ...input
}: {
  readonly label: string
  readonly placeholder?: string
  readonly maxLength: number
  readonly name?: string
  readonly value?: string
  readonly defaultValue?: string
  readonly onText?: (text: string) => void
}) => (
  <label>
    <span class="unseen">{label}</span>
    <input {...input} placeholder={placeholder} onInput={(event) => onText?.(event.currentTarget.value)} />
  </label>
)

/** A share from 0 to 1 as a line. */
export const Track = ({ share }: { readonly share: number }) => (
  <span class="track">
    <span class="fill" style={{ width: `${100 * share}%` }} />
  </span>
)

/** How far work is. */
export const Progress = ({
  done,
  label,
  total
}: {
  readonly label: string
  readonly done: number
  readonly total?: number | undefined
}) => (
  <div class="progress">
    <span>{label}</span>
    <progress aria-label={label} {...(total === undefined ? {} : { max: Math.max(1, total), value: done })} />
  </div>
)

/** A choice of few. */
export const Choices = <A extends string>({
  label,
  onChange,
  options,
  value
}: {
  readonly label: string
  readonly options: ReadonlyArray<readonly [A, string]>
  readonly value: A
  readonly onChange: (value: A) => void
}) => (
  <fieldset class="choices">
    <legend>{label}</legend>
    <div>
      {options.map(([name, text]) => (
        <label key={name} class={name === value ? "on" : undefined}>
          <input type="radio" checked={name === value} onChange={() => onChange(name)} />
          {text}
        </label>
      ))}
    </div>
  </fieldset>
)

/** Copies a text; over plain HTTP, browsers have no clipboard but that of the command. */
const toClipboard = async (text: string): Promise<void> => {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const onCopy = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text)
    event.preventDefault()
  }
  document.addEventListener("copy", onCopy)
  const isCopied = document.execCommand("copy")
  document.removeEventListener("copy", onCopy)
  if (!isCopied) throw new Error("copy")
}

/** Copies a text, and says so. */
export const Copy = ({
  children,
  text,
  ...rest
}: {
  readonly text: string
  readonly class?: string
  readonly children: ComponentChildren
}) => {
  const { announce } = useShell()
  const [said, say] = useState<string>()
  useEffect(() => {
    if (said === undefined) return undefined
    const timer = setTimeout(() => say(undefined), 1500)
    return () => clearTimeout(timer)
  }, [said])
  const tell = (result: string) => {
    say(result)
    announce(result)
  }
  return (
    <button
      {...rest}
      type="button"
      onClick={() =>
        void toClipboard(text).then(
          () => tell("Copied"),
          () => tell("The browser does not let the page copy")
        )
      }
    >
      {said ?? children}
    </button>
  )
}

/** The view's own request, for a shell or a program. */
export const CopyAs = ({ request }: { readonly request: Request }) => {
  const [isOpen, open] = useState(false)
  const [chosen, choose] = useState("curl")
  const { who } = useShell()
  const forms = formsOf(request, window.location.origin + root, who.authenticated || key.get() !== "")
  const [name, text] = forms.find(([each]) => each === chosen) ?? forms[0]!
  return (
    <>
      <button type="button" class="quiet" onClick={() => open(true)}>
        Copy as…
      </button>
      {isOpen && (
        <Dialog title="Copy as" kind="wide" onClose={() => open(false)}>
          <Choices label="For" options={forms.map(([each]) => [each, each] as const)} value={name} onChange={choose} />
          <pre class="snippet" tabIndex={0}>
            {text}
          </pre>
          <p class="actions">
            <Copy text={text}>Copy</Copy>
            <Copy text={window.location.href}>Copy this page's address</Copy>
          </p>
        </Dialog>
      )}
    </>
  )
}

/** Opens a source where it is, in the program that was chosen; nothing if it is no file's path. */
export const OpenIn = ({ line, source }: { readonly source: string; readonly line: number }) => {
  const address = editorAddress(source, line)
  return address === undefined ? null : (
    <a class="link" href={address} rel="noreferrer">
      Open in {editor.get()}
    </a>
  )
}

/** Rows of nothing while a first answer is on its way. */
export const Waiting = ({ rows = 4 }: { readonly rows?: number }) => (
  <div class="waiting" aria-hidden="true">
    {Array.from({ length: rows }, (_, row) => (
      <span key={row} />
    ))}
  </div>
)

export const Empty = ({ children, title }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p class="title">{title}</p>
    {children}
  </div>
)

/** An index in which nothing can be found yet. */
export const NothingIndexed = () => {
  const mayWrite = useMay("write")
  return (
    <Empty title="Nothing is indexed yet">
      {mayWrite ? (
        <p>
          Drop files or a folder under <a href={href("documents")}>Documents</a>, or run <code>clew index FOLDER</code>.
        </p>
      ) : (
        <p>What is indexed on the server's machine is found here.</p>
      )}
    </Empty>
  )
}
