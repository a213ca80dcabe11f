import { afterEach } from "vitest"
import { endClients } from "./client.ts"

// Here and not in client.ts, which is loaded once for all files.
afterEach(endClients)
