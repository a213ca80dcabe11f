import type { Question, Turn } from "../Llm.ts"

/**
 * What a model is sent: one message of the system's, with what it is to do, what the configuration says besides, and what
 * the caller's own system messages say; then what was said before, and the prompt. A prompt that says all itself stands alone.
 */
export const messagesOf = (
  { history = [], prompt, system }: Pick<Question, "history" | "prompt" | "system">,
  systemPrompt = ""
): ReadonlyArray<Turn> => {
  const isSystem = ({ role }: Turn) => role === "system"
  const own = system === undefined ? [] : [system, systemPrompt]
  const told = [...own, ...history.filter(isSystem).map(({ content }) => content)].filter((text) => text.trim() !== "")
  return [
    ...(told.length === 0 ? [] : [{ role: "system" as const, content: told.join("\n\n") }]),
    ...history.filter((turn) => !isSystem(turn)),
    { role: "user", content: prompt }
  ]
}

/** The same without a role for the system, which some models' templates refuse: it is said first. */
export const withoutSystem = (messages: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const [system, first, ...others] = messages
  if (system?.role !== "system") return messages
  return first?.role === "user"
    ? [{ role: "user", content: `${system.content}\n\n${first.content}` }, ...others]
    : [{ role: "user", content: system.content }, ...messages.slice(1)]
}
