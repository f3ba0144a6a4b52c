// Plays opencode 2 by its published types: loads a plugin's default export, calls `setup`, and then its hooks.
// stdin: {"plugin": PATH, "directory": DIR, "messages": [...], "steps": [[HOOK or "event", EVENT], ...]}.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const asked = JSON.parse(readFileSync(0, "utf8"))
const hooks = {}
const events = []
let wake = () => {}
const hook = async (name, callback) => void (hooks[name] = callback)
const context = {
  location: { directory: asked.directory },
  session: {
    hook,
    get: async ({ sessionID }) => ({ id: sessionID }),
    context: async () => asked.messages,
  },
  model: { list: async () => ({ data: [{ id: "m", providerID: "p", limit: { context: 1000 } }] }) },
  tool: { hook },
  event: {
    async *subscribe({ signal }) {
      while (!signal.aborted) {
        if (events.length) yield events.shift()
        else await new Promise((resolve) => (wake = resolve))
      }
    },
  },
}
const cleanup = await (await import(pathToFileURL(asked.plugin))).default.setup(context)
const results = []
for (const [name, event] of asked.steps) {
  const result = { event }
  try {
    if (name === "event") {
      events.push(event)
      wake()
      await new Promise((resolve) => setTimeout(resolve)) // it is taken before the next step
    } else await hooks[name](event)
  } catch (error) {
    result.error = error.message
  }
  results.push(result)
}
await new Promise((resolve) => setTimeout(resolve, asked.wait ?? 0))
await cleanup()
console.log(JSON.stringify({ results, toasts: [] }))
process.exit(0)
