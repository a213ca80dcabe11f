/** A document each, and questions of one word that find it and no other by keywords alone. */
export const beyondAscii: Readonly<
  Record<string, { readonly content: string; readonly finds: ReadonlyArray<string> }>
> = {
  "french.txt": {
    content: "Le château d’Ångström se dresse près de l’étang, cœur du village.",
    finds: ["château", "chateau", "Ångström", "étang", "l’étang", "coeur", "dresse‑près"]
  },
  "german.txt": {
    content: "Die Straße führt zum Größenwahn‐Museum.",
    finds: ["Straße", "strasse", "Größenwahn‐Museum"]
  },
  "greek.txt": { content: "Η θάλασσα είναι γαλανή, ο Σίσυφος κουράστηκε.", finds: ["θάλασσα", "ΣΊΣΥΦΟΣ"] },
  "russian.txt": { content: "Ёлка стоит в углу, зелёная и высокая.", finds: ["ёлка", "зелёная"] },
  "chinese.txt": { content: "所有权的规则是什么？每个值都有一个所有者。", finds: ["所有权", "所有者"] },
  "japanese.txt": { content: "ｶﾞﾗｽの城は山の上にある。", finds: ["ガラス", "山の上"] },
  "hindi.txt": { content: "हिन्दी में लिखा हुआ एक वाक्य।", finds: ["हिन्दी", "वाक्य"] },
  "emoji.txt": { content: "Deployed at last 🚀 to production.", finds: ["🚀", "production"] },
  "mathematics.txt": { content: "The value 𝒳 is named “naïve” in Müller’s proof.", finds: ["naïve", "Müller’s"] }
}
