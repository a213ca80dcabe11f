import type { Question, Turn } from "../Llm.ts"

/**
 * The messages for a model: one system message with the instruction, the configured system prompt and the caller's own
 * system messages; then earlier messages, and the prompt. A prompt with its own instruction is sent alone.
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

/** The same without a system role, which some models' templates refuse: its content comes first in a user message. */
export const withoutSystem = (messages: ReadonlyArray<Turn>): ReadonlyArray<Turn> => {
  const [system, first, ...others] = messages
  if (system?.role !== "system") return messages
  return first?.role === "user"
    ? [{ role: "user", content: `${system.content}\n\n${first.content}` }, ...others]
    : [{ role: "user", content: system.content }, ...messages.slice(1)]
}
