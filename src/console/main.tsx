import { render } from "preact"
import { App } from "./App.tsx"

// Its address is relative to the page's, which changes.
const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]")
icon?.setAttribute("href", icon.href)
render(<App />, document.body)
