// Plays opencode: loads a plugin file, calls its hooks one after the other, and prints what came of each as JSON.
// stdin: {"plugin": PATH, "directory": DIR, "messages": [...], "providers": [...], "broken": [CLIENT CALLS THAT FAIL],
// "steps": [[HOOK, INPUT, OUTPUT], ...]}. Two steps call no hook: ["messages", [...]] is the conversation from then on,
// and ["$", [PROGRAM, ARGUMENT...], STDIN] runs a program in the directory.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const asked = JSON.parse(readFileSync(0, "utf8"))
const toasts = []
const broken = new Set(asked.broken ?? [])
const client = {
  session: {
    get: async ({ path: { id } }) => ({ data: { id, parentID: asked.parents?.[id] } }),
    messages: async ({ query }) => {
      if (broken.has("messages")) throw new Error("the server is gone")
      return { data: (asked.messages ?? []).slice(-(query?.limit ?? Infinity)) }
    },
  },
  config: { providers: async () => ({ data: { providers: asked.providers ?? [] } }) },
  tui: {
    showToast: async ({ body }) => {
      if (broken.has("toast")) throw new Error("there is no window")
      if (broken.has("toast hangs")) await new Promise(() => {})
      toasts.push(body)
    },
  },
}
const module = await import(pathToFileURL(asked.plugin))
const { server } = module.default
const hooks = await server({ client, directory: asked.directory, worktree: asked.directory })
const results = []
for (const [name, input, output] of asked.steps) {
  const began = Date.now()
  const result = { input, output }
  try {
    if (name === "messages") asked.messages = input
    else if (name === "$") {
      const { status, stdout, stderr } = spawnSync(input[0], input.slice(1), { cwd: asked.directory, input: output })
      result.output = { status, stdout: String(stdout), stderr: String(stderr) }
    } else await hooks[name](input, output)
  } catch (error) {
    result.error = error.message
  }
  results.push({ ...result, ms: Date.now() - began })
}
console.log(JSON.stringify({ results, toasts }))
process.exit(0)
