// Plays a client that is about to compact: loads what `holdfast install` wrote, and prints whether it let the client go on.
// Arguments: KIND (opencode, pi, module), FILE, SESSION, ROWS. The working directory is the project.
import { spawnSync } from "node:child_process"
import { dirname } from "node:path"
import { pathToFileURL } from "node:url"

const [kind, file, session, rows = "[]"] = process.argv.slice(2)
const module = await import(pathToFileURL(file))
const cwd = process.cwd()
const said = []
let messages
const handlers = {}
const kinds = {
  opencode: async () => {
    const show = async ({ body }) => said.push(body.message)
    const client = { session: { get: async () => ({}), messages: async () => ({}) }, tui: { showToast: show } }
    const plugin = module.default?.server ?? module.Holdfast // opencode, and Kilo
    const hooks = await plugin({ client, directory: cwd, worktree: cwd })
    const input = { sessionID: session }
    return hooks["experimental.session.compacting"](input, { context: [] }).then(() => false, () => true)
  },
  pi: async () => {
    const sessionManager = { getSessionId: () => session, getSessionFile: () => undefined }
    module.default({ on: (name, handler) => (handlers[name] = handler) })
    const ctx = { cwd, sessionManager, hasUI: true, ui: { notify: (text) => said.push(text) } }
    return (await handlers.session_before_compact({ reason: "manual", preparation: {} }, ctx))?.cancel === true
  },
  module: async () => {
    module.register((name, handler) => (handlers[name] = handler))
    const run = async (words, { cwd, env, stdin, timeoutMs }) => {
      const done = spawnSync(words[0], words.slice(1), { cwd, env: { ...process.env, ...env }, input: stdin, timeout: timeoutMs })
      return { exitCode: done.status ?? 1, stdout: String(done.stdout), stderr: String(done.stderr) }
    }
    const hookEnv = async () => ({ CLAUDE_PLUGIN_ROOT: dirname(dirname(file)) })
    const [id, root, info] = [async () => session, async () => cwd, async () => ({ transcriptPath: `${cwd}/none.jsonl` })]
    const $ = { session: { id, root, cwd: root, info }, process: { run, hookEnv } }
    const answer = await handlers["session.compact"]($, { trigger: "manual", messages: JSON.parse(rows) }, async () => ({ messages: [] }))
    messages = answer.messages
    said.push(answer.skip ?? "")
    return "skip" in answer
  },
}
const blocked = await kinds[kind]()
console.log(JSON.stringify({ blocked, reason: said.join("\n"), messages }))
process.exit(0)
