/** The question names a song; who sang it is said by the song's document, and where he died by his, which has no word of it. */
export const songQuestion = "Who is the singer of the song Hello Love?"

export const songs = [
  {
    content: "The song Hello Love has a singer, whose name is Hank Snow.",
    metadata: { source: "song.md", title: "Hello Love" }
  },
  { content: "He died in Tennessee.", metadata: { source: "singer.md", title: "Hank Snow", kind: "person" } },
  ...Array.from({ length: 6 }, (_, n) => ({
    content: `A song has a singer, number ${n}; see Hello Love for another.`,
    metadata: { source: `song${n}.md`, title: `Song ${n}` }
  }))
]
